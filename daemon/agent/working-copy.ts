/** The files as one run sees them: those on disk within reach, with its own changes over them. Writes nothing. */
import { closeSync, fstatSync, lstatSync, opendirSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import type { Evidence } from '../memory/journal.ts'
import { message } from '../platform/files.ts'
import {
  type Content,
  descend,
  enter,
  type Folder,
  isCode,
  openRoot,
  type Reach,
  readPlain,
  refuseMoved,
} from '../platform/safe-folder.ts'
import type { Draft, Task } from './agent.ts'
import type { Permitted, Place, Places } from './permissions.ts'
import { type Denied, isRefused, type Pace, quoted, type Refused } from './tools.ts'

/** `hash` of what is on disk; absent for what only the run itself has written. */
type Seen = { text: string; hash: string | undefined }

/** `hash`: of the file when it was shown. A file that has another one by now is not what the model saw. */
type Sight = { how: 'part' | 'whole'; hash: string }

export type FoundFile = { path: string; within: string; place: Place }
type Found = { files: FoundFile[]; folders: FoundFile[]; cut: boolean }

const CAP_BYTES = 4_000_000
export const CAP_ENTRIES = 20_000
const CAP_DEPTH = 20
/** They hold no memory, and there may be a hundred thousand files. */
const SKIPPED = new Set(['.git', 'node_modules'])

export function createWorkingCopy(places: Places) {
  const disk = createDisk()
  const changed = new Map<string, Draft>()
  const seen = new Map<string, Sight>()
  const pending = new Map<string, Sight>()

  /** In the order of their last change; a file that was made and taken away again is none. */
  const drafts = () => [...changed.values()].filter(({ content, expect }) => content !== null || expect !== null)
  const draftAt = ({ inMemory }: Place) => (inMemory === undefined ? undefined : changed.get(inMemory))
  const draftsBelow = ({ inMemory }: Place) => {
    if (inMemory === undefined) return []
    const start = inMemory === '' ? '' : `${inMemory}/`
    return drafts()
      .filter(({ file }) => file.startsWith(start))
      .map(({ file, content }) => ({ within: file.slice(start.length), content }))
  }

  const read = (place: Place, capBytes = CAP_BYTES): Seen | Refused => {
    const draft = draftAt(place)
    if (draft) {
      if (draft.content === null) return { failed: `${place.asked} was taken away in this run` }
      return { text: draft.content, hash: draft.expect ?? undefined }
    }
    const content = disk.readFile(place, capBytes)
    return isRefused(content) ? content : { text: content.bytes.toString('utf8'), hash: content.hash }
  }

  const list = (place: Place): Entry[] | Refused => {
    const below = draftsBelow(place)
    const onDisk = disk.list(place, CAP_ENTRIES + 1)
    if (isRefused(onDisk) && ('denied' in onDisk || below.length === 0)) return onDisk
    const entries = new Map<string, Entry>(isRefused(onDisk) ? [] : onDisk.map((entry) => [entry.name, entry]))
    for (const { within, content } of below) {
      const [name = '', ...rest] = within.split('/')
      if (content === null && rest.length === 0) entries.delete(name)
      else if (content !== null) entries.set(name, { name, kind: rest.length === 0 ? 'file' : 'folder' })
    }
    return [...entries.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  const walk = async (place: Place, pace: Pace, depth = CAP_DEPTH): Promise<Found | Refused> => {
    const files: FoundFile[] = []
    const folders: FoundFile[] = []
    let entriesLeft = CAP_ENTRIES
    const visit = async (folder: Place, within: string, left: number): Promise<Refused | undefined> => {
      const entries = list(folder)
      if (isRefused(entries)) return entries
      for (const { name, kind } of entries) {
        if (entriesLeft-- <= 0) return undefined
        const late = await pace()
        if (late) return late
        const next = places.below(folder, name)
        // What may not be looked at further down is passed over: it was not asked for by name.
        if (isRefused(next)) continue
        const found = { path: next.path, within: within === '' ? name : `${within}/${name}`, place: next }
        if (kind === 'file') files.push(found)
        if (kind !== 'folder') continue
        folders.push(found)
        if (left > 1 && !SKIPPED.has(name)) await visit(next, found.within, left - 1)
      }
      return undefined
    }
    const facts = draftAt(place) ? undefined : disk.facts(place)
    if (!facts || (!isRefused(facts) && facts.kind !== 'folder'))
      return { files: [{ path: place.path, within: '', place }], folders: [], cut: false }
    const refused = (await visit(place, '', Math.min(depth, CAP_DEPTH))) ?? (await pace())
    return refused ?? { files, folders, cut: entriesLeft <= 0 }
  }

  return {
    read,
    list,
    walk,
    below: places.below,
    facts: (place: Place): Facts | Refused => {
      const draft = draftAt(place)
      if (!draft) return disk.facts(place)
      if (draft.content === null) return { failed: `${place.asked} was taken away in this run` }
      return { kind: 'file', bytes: Buffer.byteLength(draft.content), modifiedMs: 0 }
    },
    /** What was shown counts as seen once the model has it: with the next answer. `hash`: of all that was in the file. */
    shown: (file: string, how: Sight['how'], hash: string) => addSight(pending, file, { how, hash }),
    delivered: () => {
      for (const [file, sight] of pending) addSight(seen, file, sight)
      pending.clear()
    },
    hasSeen: (file: string) => seen.get(file),
    drafts,
    draftOf: (file: string) => changed.get(file),
    put: (draft: Draft) => {
      const earlier = changed.get(draft.file)
      changed.delete(draft.file)
      const evidence = merged(earlier?.because.evidence ?? [], draft.because.evidence)
      changed.set(draft.file, { ...draft, because: { reason: draft.because.reason, evidence } })
    },
  }
}
export type WorkingCopy = ReturnType<typeof createWorkingCopy>

/** A part takes nothing from the whole that was shown before, as long as it is of the same content. */
function addSight(sights: Map<string, Sight>, file: string, sight: Sight): void {
  const earlier = sights.get(file)
  if (sight.how === 'whole' || earlier?.how !== 'whole' || earlier.hash !== sight.hash) sights.set(file, sight)
}

type Entry = { name: string; kind: 'file' | 'folder' | 'other' }
export type Facts = { kind: Entry['kind']; bytes: number; modifiedMs: number }

/** Walks from the root on again: a folder swapped for a link meanwhile shows nothing. `reach` is for tests. */
export function createDisk(reach?: Reach) {
  const inFolder = <T>(place: Place, names: readonly string[], act: (folder: Folder) => T): T | Refused => {
    let isThere = false
    try {
      const root = openRoot(place.root, () => false, reach)
      try {
        return descend(root, names, enterUnlessFile, (folder, missing) => {
          if (missing.length > 0) return { failed: `there is no ${quoted(place.asked)}` }
          if (folder.reach === 'path') refuseMoved(folder)
          isThere = true
          const found = act(folder)
          if (folder.reach === 'path') refuseMoved(folder)
          return found
        })
      } finally {
        closeSync(root.fd)
      }
    } catch (error) {
      return refusalOf(quoted(place.asked), error, isThere)
    }
  }
  const readFile = (place: Place, capBytes: number): Pick<Content, 'bytes' | 'hash'> | Refused => {
    const asked = quoted(place.asked)
    const { folders, name } = wayTo(place)
    if (name === undefined) return { denied: `${asked} is not a plain file` }
    return inFolder(place, folders, (folder) => {
      if (lstatSync(folder.at(name)).size > capBytes)
        return { failed: `${asked} is larger than ${capBytes} bytes; look for words in it with Grep` }
      return readPlain(folder, name, capBytes) ?? { failed: `there is no ${asked}` }
    })
  }
  const list = (place: Place, most: number): Entry[] | Refused => {
    const { folders, name } = wayTo(place)
    return inFolder(place, name === undefined ? folders : [...folders, name], (folder) => {
      const entries: Entry[] = []
      const reading = opendirSync(folder.at('.'), { bufferSize: 512 })
      try {
        for (let entry = reading.readSync(); entry && entries.length < most; entry = reading.readSync())
          entries.push({ name: entry.name, kind: kindOf(entry) })
      } finally {
        reading.closeSync()
      }
      return entries
    })
  }
  /** Of the place itself: a link is told as one. */
  const facts = (place: Place): Facts | Refused => {
    const { folders, name } = wayTo(place)
    return inFolder(place, folders, (folder) => {
      const stats = name === undefined ? fstatSync(folder.fd) : lstatSync(folder.at(name))
      return { kind: kindOf(stats), bytes: stats.size, modifiedMs: Math.trunc(stats.mtimeMs) }
    })
  }
  return { readFile, list, facts }
}

function wayTo({ root, path }: Place): { folders: string[]; name: string | undefined } {
  const names = path === root ? [] : relative(root, path).split(sep)
  return { folders: names.slice(0, -1), name: names.at(-1) }
}

/** A file in the place of a folder is no attempt to lead elsewhere. */
function enterUnlessFile(parent: Folder, name: string): Folder | undefined {
  return lstatSync(parent.at(name), { throwIfNoEntry: false })?.isFile() ? undefined : enter(parent, name)
}

function kindOf(of: { isFile(): boolean; isDirectory(): boolean }): Entry['kind'] {
  return of.isFile() ? 'file' : of.isDirectory() ? 'folder' : 'other'
}

function refusalOf(asked: string, error: unknown, isThere: boolean): Refused {
  if (isCode(error, 'REFUSED'))
    return { denied: isThere ? message(error) : `${asked} was replaced while it was being read` }
  if (isCode(error, 'ENOENT', 'ENOTDIR')) return { failed: `there is no ${asked}` }
  if (isCode(error, 'ELOOP', 'ENXIO')) return { denied: `${asked} is a link or not a plain file` }
  if (isCode(error, 'EACCES', 'EPERM')) return { denied: `${asked} is closed to us` }
  if (isCode(error, 'ENAMETOOLONG')) return { denied: `${asked} is too long for a path` }
  return { failed: `${asked} could not be read (${(error as NodeJS.ErrnoException).code ?? 'for an unknown reason'})` }
}

function merged(earlier: readonly Evidence[], later: readonly Evidence[]): Evidence[] {
  const known = new Set(earlier.map((each) => JSON.stringify(each)))
  return [...earlier, ...later.filter((each) => !known.has(JSON.stringify(each)))]
}

const CAP_CONTENT_CHARS = 1_000_000

type Edit = Extract<Permitted, { tool: 'Edit' }>
type Write = Extract<Permitted, { tool: 'Write' }>

export async function edit({ place, file, input }: Edit, copy: WorkingCopy, task: Task): Promise<string | Refused> {
  if (!copy.hasSeen(file) && !copy.draftOf(file)) return { denied: `read ${quoted(file)} before you edit it` }
  const seen = readUnchanged(place, file, copy)
  if (isRefused(seen)) return seen
  const { old_string: old, new_string: fresh, replace_all: all = false } = input
  if (old === fresh) return { failed: 'old_string and new_string are the same' }
  const times = countIn(seen.text, old)
  if (times === 0) return { failed: `old_string does not stand in ${quoted(file)}` }
  if (times > 1 && !all)
    return { failed: `old_string stands ${times} times in ${quoted(file)}; give more of what is around it` }
  // Two short strings can make a text that does not fit into memory.
  if (seen.text.length + times * (fresh.length - old.length) > CAP_CONTENT_CHARS)
    return { denied: `${quoted(file)} would be longer than ${CAP_CONTENT_CHARS} characters` }
  const content = seen.text.replaceAll(old, () => fresh)
  return put(copy, task, { file, content, expect: seen.hash ?? null }, input)
}

export async function write({ place, file, input }: Write, copy: WorkingCopy, task: Task): Promise<string | Refused> {
  const draft = copy.draftOf(file)
  const content = input.content.trim() === '' ? null : input.content
  const facts = copy.facts(place)
  if ('denied' in facts) return facts
  if ('failed' in facts) {
    if (content === null) return facts
    if (copy.hasSeen(file) && !draft) return { denied: `${quoted(file)} was taken away since you read it; leave it so` }
    const twin = twinOf(place, file, copy)
    if (twin !== undefined)
      return { denied: `${quoted(file)} would stand beside ${quoted(twin)}, and some systems take one for the other` }
    return put(copy, task, { file, content, expect: null }, input)
  }
  if (copy.hasSeen(file)?.how !== 'whole' && !draft)
    return { denied: `${quoted(file)} exists; read the whole of it before you write over it` }
  const seen = readUnchanged(place, file, copy)
  if (isRefused(seen)) return seen
  return put(copy, task, { file, content, expect: seen.hash ?? null }, input)
}

/** A person may have written meanwhile: the model may not replace words that it never saw. */
function readUnchanged(place: Place, file: string, copy: WorkingCopy): Seen | Refused {
  const seen = copy.read(place)
  const sight = copy.draftOf(file) ? undefined : copy.hasSeen(file)
  if (isRefused(seen) || !sight || sight.hash === seen.hash) return seen
  return { denied: `${quoted(file)} has changed since you read it: read it again` }
}

function countIn(text: string, part: string): number {
  let count = 0
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count++
  return count
}

/** The memory writer would refuse it at the end, and with it the whole run. */
function twinOf(place: Place, file: string, copy: WorkingCopy): string | undefined {
  const names = file.split('/')
  const root = place.path.slice(0, -file.length - 1)
  for (const [depth, name] of names.entries()) {
    const folder = names.slice(0, depth).join('/')
    const entries = copy.list({ ...place, path: join(root, folder), inMemory: folder })
    if (isRefused(entries)) return undefined
    if (entries.some((entry) => entry.name === name)) continue
    return entries.find((entry) => folded(entry.name) === folded(name))?.name
  }
  return undefined
}

function folded(name: string): string {
  return name.normalize('NFKC').toLowerCase()
}

async function put(
  copy: WorkingCopy,
  { check, cite, job }: Task,
  { file, content, expect }: Omit<Draft, 'because'>,
  { evidence: ids = [], reason }: (Edit | Write)['input'],
): Promise<string | Denied> {
  const cited = cite?.(ids, content) ?? { evidence: [] }
  if ('refused' in cited) return { denied: cited.refused }
  // What was there before the run stays what must be there when it is applied.
  const earlier = copy.draftOf(file)
  const because = { reason: reason || job, evidence: cited.evidence }
  const draft = { file, content, expect: earlier ? earlier.expect : expect, because }
  // Made and taken away within one run: there is nothing to refuse.
  const refused = content === null && draft.expect === null ? undefined : await check?.(draft)
  if (refused !== undefined) return { denied: refused }
  copy.put(draft)
  if (content === null) return `${file} will be taken away`
  return `${file} will be ${draft.expect === null ? 'created' : 'changed'}`
}
