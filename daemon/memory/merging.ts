/** Memories of a moved project join those that are in its new place already: brought first, then taken from the old one. */
import { existsSync } from 'node:fs'
import type { Moved } from '../../schema/transfer.ts'
import { message } from '../platform/files.ts'
import { redact } from '../secrets/redact.ts'
import { numbered } from './file-names.ts'
import { indexOf, inFolder, isIndex, type Present, readPresent } from './folder.ts'
import { fatesOf } from './import-plan.ts'
import { type Ends, everythingIn, holdsNothing, type Move, type MovedFile, removeFolders } from './move.ts'
import { type Past, TAKEN_AWAY } from './past.ts'
import { groundOf, listMemories } from './scan.ts'
import { type Author, isRefusal, type Write } from './write-checks.ts'
import type { Writer } from './writer.ts'

export type WriteNow = (writes: readonly Write[], author: Author) => Promise<unknown>

type Deps = { writer: Writer; past: Past }

export type Merge = Pick<Moved, 'skipped' | 'renamed' | 'stayed'> & { writes: Write[]; files: MovedFile[] }

const MOST_TOLD = 200

export function createMerging({ writer, past }: Deps) {
  /** What is brought as it is, or why it stays: nothing of it may be lost on the way. */
  const fitting = async (toDir: string, as: string, present: Present, by: Author): Promise<Write | string> => {
    const write: Write = { file: as, content: present.text, expect: null, form: 'as-it-was' }
    if (!present.exact) return 'its bytes are no text'
    if ((await redact(present.text)).kinds.length > 0) return 'it seems to hold a credential'
    try {
      await writer.check(toDir, write, by)
      return write
    } catch (error) {
      if (!isRefusal(error)) throw error
      return error.message
    }
  }

  /** Files that are gone and have a history; it needs a name of its own where another file has one. */
  const goneFiles = ({ fromDir, toDir }: Ends, there: readonly string[], coming: readonly MovedFile[]): MovedFile[] => {
    const taken = new Set([...groundOf(toDir).names, ...coming.map(({ as }) => as)])
    const isFree = (file: string) => !taken.has(file) && !past.knows(toDir, file)
    const gone = past.filesEver(fromDir).filter((file) => !isIndex(file) && !there.includes(file))
    return gone.map((file) => {
      const as = past.knows(fromDir, file) ? freeName(file, isFree) : file
      taken.add(as)
      return { file, as }
    })
  }

  const plan = async (ends: Ends, by: Author): Promise<Merge> => {
    const merge: Merge = { writes: [], files: [], skipped: [], renamed: [], stayed: [] }
    const { files, closed } = listMemories(ends.fromDir)
    const present = new Map<string, Present>()
    for (const file of files.filter((name) => !isIndex(name))) {
      const found = readIn(ends.fromDir, file)
      if (typeof found === 'string') merge.stayed.push({ file, reason: found })
      else present.set(file, found)
    }
    const incoming = [...present].map(([file, { hash }]) => ({ file, hashes: [hash] }))
    for (const fate of fatesOf(incoming, groundOf(ends.toDir))) {
      const { file } = fate
      const { hash } = present.get(file) as Present
      if (fate.is === 'refused') merge.stayed.push({ file, reason: fate.reason })
      else if (fate.is === 'skipped') {
        merge.skipped.push(file)
        merge.files.push({ file, as: fate.as, hash })
      } else {
        const write = await fitting(ends.toDir, fate.as, present.get(file) as Present, by)
        if (typeof write === 'string') merge.stayed.push({ file, reason: write })
        else {
          merge.writes.push(write)
          merge.files.push({ file, as: fate.as, hash })
          if (fate.as !== file) merge.renamed.push({ file, as: fate.as })
        }
      }
    }
    merge.files.push(...goneFiles(ends, [...files, ...closed], merge.files))
    return merge
  }

  /** Takes from the old place what is in the new one for certain. */
  const clear = async ({ id, fromDir, toDir, toRoot, files }: Move, apply: WriteNow): Promise<void> => {
    if (!existsSync(fromDir)) return
    const arrived = files.filter(({ file, as, hash }) => {
      const old = readIn(fromDir, file)
      return hash !== undefined && typeof old !== 'string' && old.hash === hash && typeof readIn(toDir, as) !== 'string'
    })
    const writes: Write[] = arrived.map(({ file, hash }) => ({ file, content: null, expect: hash }))
    const left = listMemories(fromDir).files.filter((file) => !arrived.some((each) => each.file === file))
    for (const index of left.filter(isIndex)) {
      const found = readIn(fromDir, index)
      const needed = left.some((file) => !isIndex(file) && indexOf(file) === index)
      if (typeof found === 'string' || needed || (await redact(found.text)).kinds.length > 0 || !found.exact) continue
      writes.push({ file: index, content: null, expect: found.hash })
    }
    if (writes.length > 0)
      await apply(writes, { actor: 'user', reason: `moved to ${toRoot}`, runId: `${TAKEN_AWAY}${id}` })
    if (holdsNothing(fromDir)) removeFolders(fromDir)
  }

  /** Everything that is still in the old place, with why. */
  const leftBehind = (fromDir: string, known: Moved['stayed']): Moved['stayed'] =>
    everythingIn(fromDir, MOST_TOLD).map((file) => {
      const told = known.find((each) => each.file === file)
      const reason = isIndex(file) ? 'it is the index of what stayed' : 'it is no memory'
      return told ?? { file, reason }
    })

  return { plan, clear, leftBehind }
}

function readIn(dir: string, file: string): Present | string {
  try {
    return inFolder(dir, (folder) => readPresent(folder, file)) ?? 'it is not there'
  } catch (error) {
    return message(error)
  }
}

function freeName(file: string, isFree: (name: string) => boolean): string {
  for (let n = 1; ; n++) {
    const name = numbered(file, n)
    if (isFree(name)) return name
  }
}
