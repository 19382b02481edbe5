/**
 * Decides under which names memories come into a directory from elsewhere: their own, or a free one where another memory
 * has it. Nothing is ever written over. Does no I/O.
 */
import { numbered, twinKey } from './file-name.ts'

/** A file, and the name it has in the directory it comes into. */
export type Named = { file: string; as: string }

/** `hashes`: the bytes as they come, and as they would be written. */
export type Incoming = { file: string; hashes: readonly string[] }

export type Fate =
  | (Named & { is: 'created' })
  | (Named & { is: 'skipped' })
  | { file: string; is: 'refused'; reason: string }

/** What the directory has: every name in it, and the hash of what is under one, if that can be read. */
export type Ground = { names: readonly string[]; hashAt: (file: string) => string | undefined }

const MOST_TRIES = 1_000

/** The order decides who gets a name that several could be mistaken for. */
export function fatesOf(incoming: readonly Incoming[], { names, hashAt }: Ground): Fate[] {
  const spelled = new Map<string, string>()
  const settle = (file: string) => {
    for (const path of pathsTo(file)) spelled.set(twinKey(path), path)
  }
  for (const name of names) settle(name)
  /** Some systems take names that differ in case or form for one, of folders too: there only one of them may stand. */
  const mistaken = (path: string) => (spelled.get(twinKey(path)) ?? path) !== path

  const decide = ({ file, hashes }: Incoming): Fate => {
    const folder = pathsTo(file).slice(0, -1).find(mistaken)
    if (folder !== undefined)
      return {
        file,
        is: 'refused',
        reason: `path: the folder ${folder} would stand beside one of nearly the same name`,
      }
    for (let n = 1; n < MOST_TRIES; n++) {
      const as = numbered(file, n)
      const there = spelled.get(twinKey(as))
      if (there === undefined) {
        settle(as)
        return { file, is: 'created', as }
      }
      const hash = hashAt(there)
      if (hash !== undefined && hashes.includes(hash)) return { file, is: 'skipped', as: there }
    }
    return { file, is: 'refused', reason: 'path: there are too many memories of this name' }
  }
  return incoming.map(decide)
}

/** `a/b/c.md` → `a`, `a/b`, `a/b/c.md`. */
function pathsTo(file: string): string[] {
  const parts = file.split('/')
  return parts.map((_part, at) => parts.slice(0, at + 1).join('/'))
}
