/** Lists the transcripts below a folder, a few at a time so that others get their turn. Follows no link, keeps no list. */
import { type Dir, opendirSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { depthOf, type Root, type Source, sourceOf } from './source.ts'

/** Names between two turns. */
const AT_ONCE = 200

/**
 * `folder`: named from the root on, empty for the root itself. Of what cannot be listed nothing is told. `enter` hears of every
 * folder before it is listed, and whether to is its answer.
 */
export async function* walk(
  root: Root,
  folder: string,
  enter: (folder: string) => boolean = () => true,
): AsyncGenerator<Source[]> {
  const depth = depthOf(root.harness)
  const folders = [folder]
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    if (!enter(next)) continue
    const dir = open(next === '' ? root.path : `${root.path}/${next}`)
    if (!dir) continue
    try {
      for (let more = true; more; ) {
        const found: Source[] = []
        more = take(dir, (name, kind) => {
          const below = next === '' ? name : `${next}/${name}`
          if (kind === 'folder') {
            if (below.split('/').length <= depth) folders.push(below)
            return
          }
          const source = sourceOf(root, below)
          if (source) found.push(source)
        })
        if (found.length > 0) yield found
        await turn()
      }
    } finally {
      dir.closeSync()
    }
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
function take(dir: Dir, each: (name: string, kind: 'folder' | 'file') => void): boolean {
  for (let count = 0; count < AT_ONCE; count++) {
    const entry = read(dir)
    if (!entry) return false
    if (entry.isDirectory()) each(entry.name, 'folder')
    else if (entry.isFile()) each(entry.name, 'file')
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
