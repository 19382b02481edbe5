/** Everything about a folder tree that a program could have changed, as lines to compare. */
import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

const HASHED_BYTES = 4_000_000

/** Times are part of it: a file that came and went leaves its mark on the folder. */
export function snapshot(folder: string): string[] {
  return [
    `. ${describeEntry(folder)}`,
    ...entriesOf(folder).map((name) => `${name} ${describeEntry(join(folder, name))}`),
  ]
}

/** Every name in the tree. Node's own recursive listing follows links, out of the tree. */
export function entriesOf(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => [
    entry.name,
    ...(entry.isDirectory() ? entriesOf(join(folder, entry.name)).map((name) => `${entry.name}/${name}`) : []),
  ])
}

function describeEntry(path: string): string {
  const stats = lstatSync(path, { bigint: true })
  const { ino, mode, nlink, size, mtimeNs, ctimeNs } = stats
  const held = stats.isSymbolicLink()
    ? readlinkSync(path)
    : stats.isFile() && size < HASHED_BYTES
      ? createHash('sha256').update(readFileSync(path)).digest('hex')
      : ''
  return [ino, mode.toString(8), nlink, size, mtimeNs, ctimeNs, held].join(' ')
}
