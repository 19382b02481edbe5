/**
 * Reads and writes plain files in one folder tree and nowhere else, whatever links, twins and swapped folders are in the
 * way. Judges places, never content. A file is replaced whole or not at all, and only where it holds what was expected.
 */
import { randomInt } from 'node:crypto'
import { closeSync, fsyncSync, lstatSync, readdirSync, renameSync, rmSync, unlinkSync } from 'node:fs'
import { MemoryError } from '../../schema/errors.ts'
import {
  bestReach,
  descend,
  enter,
  type Folder,
  isCode,
  openRoot,
  type Reach,
  refused,
  refuseMoved,
  removeIfEmpty,
  withNewFolders,
} from './descend.ts'
import { CAP_SEGMENTS, checkFileName, checkReadName, shown, twinAmong } from './file-name.ts'
import { CAP_BYTES, type Content, hashOf, readPlain, writeNew } from './plain-file.ts'

/** What must be there for a change to happen: content with this hash, no file (`null`), or anything (`undefined`). */
export type Expected = string | null | undefined

export type Confined = {
  /** Any name that leads to a place inside, also one that we would not give. */
  read(file: string): Content | undefined
  /** When it returns, the content survives a power cut; with `settle: 'later'`, once `settle()` has returned. */
  write(file: string, bytes: Uint8Array, options: { expect: Expected; settle?: 'later' }): { hash: string }
  /** One wait for the names of several files instead of one for each. */
  settle(): void
  /** Folders that are empty then go as well. */
  remove(file: string, options: { expect: string | undefined }): 'removed' | 'absent'
  /** Half-written files of a process that was killed. */
  leftovers(): string[]
  /** Removes them and tells which. Not while another process writes here. */
  sweep(): string[]
  close(): void
}

const TEMPORARY = /^\.memoryd-\d+-\d+\.tmp$/

/** Holds `root` open until `close()`. Once another folder stands in its place, everything is refused: open it again. */
export function openFolder(root: string, { reach = bestReach(process.platform) }: { reach?: Reach } = {}): Confined {
  const top = openRoot(root, reach)

  const read: Confined['read'] = (file) => {
    const name = checkReadName(file)
    if (!name.ok) throw refused(name.refused)
    return reaching(top, name.segments, enter, (folder, leaf, missing) => {
      if (missing.length > 0) return undefined
      const content = readPlain(folder, leaf)
      refuseMoved(folder)
      return content
    })
  }

  let unsettled = false
  const write: Confined['write'] = (file, bytes, { expect, settle }) => {
    if (bytes.length > CAP_BYTES) throw refused(`${shown(file)} would be larger than ${CAP_BYTES} bytes`)
    return reaching(top, changeable(file), enterNoTwin, (folder, leaf, missing) => {
      // Before any folder is made: a refused write leaves nothing behind.
      if (missing.length === 0) refuseTwin(folder, leaf)
      else compare(undefined, { file, expect })
      return withNewFolders(folder, missing, (target) => {
        const hash = replace(target, leaf, bytes, { file, expect })
        // Only the root stays open until then.
        if (settle === 'later' && target === top) unsettled = true
        else fsyncSync(target.fd)
        refuseMoved(target)
        return { hash }
      })
    })
  }

  const remove: Confined['remove'] = (file, { expect }) =>
    reaching(top, changeable(file), enterNoTwin, (folder, leaf, missing) => {
      if (missing.length === 0) refuseTwin(folder, leaf)
      const present = missing.length === 0 ? readPlain(folder, leaf) : undefined
      compare(present, { file, expect })
      if (!present) return 'absent'
      refuseMoved(folder)
      unlinkSync(folder.at(leaf))
      fsyncSync(folder.fd)
      for (let each = folder; each.parent && removeIfEmpty(each) === 'removed'; ) each = each.parent
      return 'removed'
    })

  return {
    read,
    write,
    remove,
    settle: () => {
      if (unsettled) fsyncSync(top.fd)
      unsettled = false
    },
    leftovers: () => temporaries(top, [], () => {}),
    sweep: () => temporaries(top, [], (folder, name) => rmSync(folder.at(name), { force: true })),
    close: () => closeSync(top.fd),
  }
}

function reaching<T>(
  top: Folder,
  segments: readonly string[],
  step: typeof enter,
  act: (folder: Folder, leaf: string, missing: readonly string[]) => T,
): T {
  try {
    refuseMoved(top)
    return descend(top, segments.slice(0, -1), step, (folder, missing) => act(folder, segments.at(-1) ?? '', missing))
  } catch (error) {
    // What may be missing or in the way was looked at already: it has changed since.
    if (isCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENOTEMPTY'))
      throw refused(`the folders on the way to ${shown(segments.join('/'))} were changed while they were in use`)
    throw error
  }
}

type Change = { file: string; expect: Expected }

function replace(folder: Folder, leaf: string, bytes: Uint8Array, change: Change): string {
  const present = readPlain(folder, leaf)
  compare(present, change)
  const temporary = `.memoryd-${process.pid}-${randomInt(2 ** 48 - 1)}.tmp`
  try {
    writeNew(folder, temporary, bytes, { mode: present?.mode ?? 0o600 })
    refuseMoved(folder)
    // Somebody may have saved the file while ours went to the disk.
    compare(readPlain(folder, leaf), change)
    renameSync(folder.at(temporary), folder.at(leaf))
  } catch (error) {
    discard(folder, temporary)
    throw error
  }
  return hashOf(bytes)
}

/** What went wrong before is what the caller must hear of; the next sweep takes what stays. */
function discard(folder: Folder, temporary: string): void {
  try {
    unlinkSync(folder.at(temporary))
  } catch {}
}

function compare(present: Content | undefined, { file, expect }: Change): void {
  if (expect === undefined || present?.hash === (expect ?? undefined)) return
  const words = !present ? 'is no longer there' : expect === null ? 'is already there' : 'has changed since it was read'
  throw new MemoryError('CONFLICT', `${shown(file)} ${words}`, { hint: 'read it again, then decide' })
}

function changeable(file: string): string[] {
  const name = checkFileName(file)
  if (!name.ok) throw refused(name.refused)
  return name.file.split('/')
}

function enterNoTwin(parent: Folder, name: string): Folder | undefined {
  refuseTwin(parent, name)
  return enter(parent, name)
}

/** Where case does not count, the system finds `note.md` under the name `Note.md` too: only the listing tells. */
function refuseTwin(folder: Folder, name: string): void {
  if (folder.reach === 'descriptor' && isThereExactly(folder, name)) return
  const entries = readdirSync(folder.at(''))
  const twin = entries.includes(name) ? undefined : twinAmong(name, entries)
  if (twin !== undefined)
    throw refused(`${shown(name)} would stand beside ${shown(twin)}, and some systems take one for the other`)
}

/** Spares the listing: what is found by this name, and not by the same in capitals, has this name. */
function isThereExactly(folder: Folder, name: string): boolean {
  const found = inode(folder, name)
  const capitals = name.toUpperCase()
  return found !== undefined && (capitals === name || inode(folder, capitals) !== found)
}

function inode(folder: Folder, name: string): bigint | undefined {
  return lstatSync(folder.at(name), { bigint: true, throwIfNoEntry: false })?.ino
}

/** Looks only where a memory may be: `.git` may hold thousands of folders, and nothing of ours. */
function temporaries(folder: Folder, path: string[], act: (folder: Folder, name: string) => void): string[] {
  return readdirSync(folder.at(''), { withFileTypes: true }).flatMap((entry) => {
    const { name } = entry
    const here = [...path, name]
    if (entry.isFile() && TEMPORARY.test(name)) {
      act(folder, name)
      return [here.join('/')]
    }
    if (!entry.isDirectory() || name.startsWith('.') || here.length >= CAP_SEGMENTS) return []
    return descend(folder, [name], enterIfOpen, (sub, missing) =>
      missing.length === 0 ? temporaries(sub, here, act) : [],
    )
  })
}

/** A folder that is closed to us, or that became a link just now, holds nothing that we could take away. */
function enterIfOpen(parent: Folder, name: string): Folder | undefined {
  try {
    return enter(parent, name)
  } catch (error) {
    if (isCode(error, 'EACCES', 'REFUSED')) return undefined
    throw error
  }
}
