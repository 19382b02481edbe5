/** What `connect` did, in `<state>/connections`: each file with its backup, and how it was left. */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { MemoryError } from '../../../schema/errors.ts'
import type { Connection } from '../../../schema/hook.ts'
import { addedAgain } from './hook-settings.ts'
import { sweepDrafts, writeWhole } from './whole-file.ts'

/** `before` is the text as it was: nothing where we made the file, `lost` where no backup is what it should be. */
export type Noted = Connection & { before: string | undefined | typeof lost }
export const lost = Symbol('lost')

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export function createNoted(stateDir: string) {
  const dir = join(stateDir, 'connections')
  const nameOf = (file: string) => join(dir, hashOf(file).slice(0, 16))
  // By its content, too: a backup is never written over.
  const backupOf = (file: string, before: string) => `${nameOf(file)}-${hashOf(before).slice(0, 12)}.backup`
  const names = (): string[] => {
    try {
      return readdirSync(dir)
    } catch {
      return []
    }
  }
  /** With our pieces a backup makes the text that we left, or it is damaged. */
  const backupFor = (name: string, connection: Connection) => {
    for (const each of names().filter((file) => file.startsWith(basename(name)) && file.endsWith('.backup'))) {
      const before = readFileSync(join(dir, each), 'utf8')
      if (hashOf(addedAgain(before, connection.pieces)) === connection.hash) return before
    }
    return lost
  }
  const read = (name: string): Noted | undefined => {
    try {
      const connection = JSON.parse(readFileSync(`${name}.json`, 'utf8')) as Connection
      return { ...connection, before: connection.made ? undefined : backupFor(name, connection) }
    } catch {
      return undefined
    }
  }
  const rights = { mode: 0o600 }
  const drop = (file: string): void => rmSync(`${nameOf(file)}.json`, { force: true })
  return {
    backupOf,
    of: (file: string): Noted | undefined => read(nameOf(file)),
    all: (): Noted[] =>
      names()
        .filter((name) => name.endsWith('.json'))
        .flatMap((name) => read(join(dir, name.slice(0, -'.json'.length))) ?? []),
    /** Before the file is changed: whatever a kill leaves, its backup is there. Returns how to take it back. */
    keep: ({ before, ...connection }: Noted): (() => void) => {
      const note = `${nameOf(connection.file)}.json`
      try {
        mkdirSync(dir, { recursive: true, mode: 0o700 })
        sweepDrafts(dir)
        const noteThere = () => (names().includes(basename(note)) ? readFileSync(note, 'utf8') : undefined)
        const earlier = noteThere()
        const text = `${JSON.stringify(connection, null, 2)}\n`
        if (typeof before === 'string') writeWhole(backupOf(connection.file, before), before, rights)
        writeWhole(note, text, rights)
        return () => {
          // Another connect may have come first, and noted what is there now.
          if (noteThere() !== text) return
          if (earlier === undefined) drop(connection.file)
          else writeWhole(note, earlier, rights)
        }
      } catch (cause) {
        const why = (cause as NodeJS.ErrnoException).code ?? (cause as Error).message
        const what = `no backup of ${connection.file} can be kept in ${dir} (${why}); nothing was changed`
        throw new MemoryError('REFUSED', what, { reason: 'path', cause, hint: 'make room there, or make it writable' })
      }
    },
    /** The backup stays. */
    drop,
    sweep: () => sweepDrafts(dir),
  }
}
