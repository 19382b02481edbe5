/** Lists what is below a folder, a few names at a time so that others get their turn. Follows no link, keeps no list. */
import { type Dir, opendirSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { depthOf, mayHold, type Root, type Source, sourceOf } from './source.ts'

/** Names between two turns. */
const AT_ONCE = 200

export type Entry = { name: string; kind: 'file' | 'link' }

type Walk = {
  /** Levels of folders below the base that are entered. */
  depth: number
  isWanted: (name: string) => boolean
  /** Hears of every folder before it is listed; whether to is its answer. */
  enters?: ((name: string) => boolean) | undefined
}

/** `folder`: named from the base on, as all that is told; empty for the base itself. Of what cannot be listed nothing is told. */
export async function* walkNames(
  base: string,
  folder: string,
  { depth, isWanted, enters = () => true }: Walk,
): AsyncGenerator<Entry[]> {
  const folders = [folder]
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    if (!enters(next)) continue
    const dir = open(next === '' ? base : `${base}/${next}`)
    if (!dir) continue
    try {
      for (let more = true; more; ) {
        const found: Entry[] = []
        more = take(dir, (name, kind) => {
          const below = next === '' ? name : `${next}/${name}`
          if (kind !== 'folder') {
            if (isWanted(below)) found.push({ name: below, kind })
          } else if (below.split('/').length <= depth) folders.push(below)
        })
        if (found.length > 0) yield found
        await turn()
      }
    } finally {
      dir.closeSync()
    }
  }
}

/** The transcripts below a folder of a root. */
export async function* walk(
  root: Root,
  folder: string,
  enters: (folder: string) => boolean = () => true,
): AsyncGenerator<Source[]> {
  const depth = depthOf(root.harness)
  const isWanted = (name: string) => sourceOf(root, name) !== undefined
  const isEntered = (name: string) => mayHold(root, name) && enters(name)
  for await (const entries of walkNames(root.path, folder, { depth, isWanted, enters: isEntered })) {
    const files = entries.filter(({ kind }) => kind === 'file')
    yield files.map(({ name }) => ({ harness: root.harness, root: root.path, path: `${root.path}/${name}` }))
  }
}

function open(path: string): Dir | undefined {
  try {
    return opendirSync(path, { bufferSize: AT_ONCE })
  } catch {
    return undefined
  }
}

/** Whether there may be more. */
function take(dir: Dir, each: (name: string, kind: Entry['kind'] | 'folder') => void): boolean {
  for (let count = 0; count < AT_ONCE; count++) {
    const entry = read(dir)
    if (!entry) return false
    if (entry.isDirectory()) each(entry.name, 'folder')
    else if (entry.isFile()) each(entry.name, 'file')
    else if (entry.isSymbolicLink()) each(entry.name, 'link')
  }
  return true
}

function read(dir: Dir) {
  try {
    return dir.readSync()
  } catch {
    return null
  }
}
