/** The memories of a directory as a list, read again only where a file's stamp has changed. */
import type { Clock } from '../platform/clock.ts'
import { type Read, type Scan, scanMemories } from './scan.ts'
import { isSettled } from './stamp.ts'
import type { TellingNames } from './telling-names.ts'

export type Catalogue = { list(dir: string): Scan }

const MOST_DIRECTORIES = 32

type Deps = { clock: Pick<Clock, 'now'>; names: Pick<TellingNames, 'isKnownTelling'> }

export function createCatalogue({ clock, names }: Deps): Catalogue {
  const directories = new Map<string, Map<string, Read>>()
  return {
    list: (dir) => {
      const known = directories.get(dir) ?? new Map<string, Read>()
      const startedMs = clock.now()
      const scan = scanMemories(dir, { known })
      const listed = new Set(scan.items.map(({ file }) => file))
      for (const [file, read] of known) if (!listed.has(file) || !isSettled(read, startedMs)) known.delete(file)
      // The map is in order of use.
      directories.delete(dir)
      directories.set(dir, known)
      if (directories.size > MOST_DIRECTORIES) directories.delete(directories.keys().next().value as string)
      return { ...scan, items: scan.items.filter(({ file }) => !names.isKnownTelling(file)) }
    },
  }
}
