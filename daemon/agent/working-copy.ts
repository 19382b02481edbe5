/**
 * The files as one run sees them: those on disk within reach, with its own changes over them. Remembers what the model
 * has been shown. Fresh for every run.
 */

import { join } from 'node:path'
import type { Evidence } from '../memory/journal.ts'
import { type Content, createConfined, type Entry, type Facts } from './confined-file.ts'
import type { Permitted, Place, Places } from './permissions.ts'
import { type Denied, type Failed, isDenied, isFailed, type Output, type Pace, quoted } from './tool-output.ts'

/** `hash` of what is on disk; absent for what only the run itself has written. */
export type Seen = { text: string; hash: string | undefined }

/** `hash`: of the file as it was then. Whoever changes it by now changes what the model never saw. */
export type Sight = { how: 'part' | 'whole'; hash: string }

export type FoundFile = { path: string; within: string; place: Place }

export type Workspace = {
  read(place: Place, capBytes?: number): Promise<Seen | Denied | Failed>
  list(place: Place): Promise<Entry[] | Denied | Failed>
  facts(place: Place): Promise<Facts | Denied | Failed>
  /** All plain files below a folder, by path; or the one file that it is. */
  walk(
    place: Place,
    pace: Pace,
    depth?: number,
  ): Promise<{ files: FoundFile[]; folders: FoundFile[]; cut: boolean } | Denied | Failed>
  /** A place below one that was found inside. */
  below(place: Place, within: string): Place | Denied
  /** What was shown counts as seen once the model has it: with the next answer. `hash`: of all that was in the file. */
  shown(file: string, how: Sight['how'], hash: string): void
  delivered(): void
  /** What the model was last shown of a file; nothing where it never was. */
  hasSeen(file: string): Sight | undefined
}

const CAP_BYTES = 4_000_000
/** Of one folder, and of all below one. */
export const CAP_ENTRIES = 20_000
const CAP_DEPTH = 20
/** Nobody looks for a memory there, and there may be a hundred thousand files. */
const SKIPPED = new Set(['.git', 'node_modules'])

type Deps = { places: Places; overlay: Overlay; confined?: ReturnType<typeof createConfined> }

export function createWorkspace({ places, overlay, confined = createConfined() }: Deps): Workspace {
  const seen = new Map<string, Sight>()
  const pending = new Map<string, Sight>()
  const draftAt = ({ inMemory }: Place) => (inMemory === undefined ? undefined : overlay.get(inMemory))
  const draftsBelow = (place: Place) => {
    if (place.inMemory === undefined) return []
    const start = place.inMemory === '' ? '' : `${place.inMemory}/`
    return overlay
      .drafts()
      .filter(({ file }) => file.startsWith(start))
      .map(({ file, content }) => ({ within: file.slice(start.length), content }))
  }

  const read: Workspace['read'] = async (place, capBytes = CAP_BYTES) => {
    const draft = draftAt(place)
    if (draft) {
      if (draft.content === null) return { failed: `${place.asked} was taken away in this run` }
      return { text: draft.content, hash: draft.expect ?? undefined }
    }
    const content = await confined.readFile(place, capBytes)
    return isDenied(content) || isFailed(content) ? content : { text: asText(content), hash: content.hash }
  }

  const list: Workspace['list'] = async (place) => {
    const drafts = draftsBelow(place)
    const onDisk = await confined.list(place, CAP_ENTRIES + 1)
    if (isDenied(onDisk) || (isFailed(onDisk) && drafts.length === 0)) return onDisk
    const entries = new Map<string, Entry>(isFailed(onDisk) ? [] : onDisk.map((entry) => [entry.name, entry]))
    for (const { within, content } of drafts) {
      const [name = '', ...rest] = within.split('/')
      if (content === null && rest.length === 0) entries.delete(name)
      else if (content !== null) entries.set(name, { name, kind: rest.length === 0 ? 'file' : 'folder' })
    }
    return [...entries.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  const walk: Workspace['walk'] = async (place, pace, depth = CAP_DEPTH) => {
    const files: FoundFile[] = []
    const folders: FoundFile[] = []
    let entriesLeft = CAP_ENTRIES
    const visit = async (folder: Place, within: string, left: number): Promise<Denied | Failed | undefined> => {
      const entries = await list(folder)
      if (isDenied(entries) || isFailed(entries)) return entries
      for (const { name, kind } of entries) {
        if (entriesLeft-- <= 0) return undefined
        const late = await pace()
        if (late) return late
        const next = places.below(folder, name)
        // What may not be looked at further down is passed over: it was not asked for by name.
        if (isDenied(next)) continue
        const found = { path: next.path, within: within === '' ? name : `${within}/${name}`, place: next }
        if (kind === 'file') files.push(found)
        if (kind !== 'folder') continue
        folders.push(found)
        if (left > 1 && !SKIPPED.has(name)) await visit(next, found.within, left - 1)
      }
      return undefined
    }
    const facts = draftAt(place) ? undefined : await confined.facts(place)
    if (!facts || (!isDenied(facts) && !isFailed(facts) && facts.kind !== 'folder'))
      return { files: [{ path: place.path, within: '', place }], folders: [], cut: false }
    const trouble = (await visit(place, '', Math.min(depth, CAP_DEPTH))) ?? (await pace())
    return trouble ?? { files, folders, cut: entriesLeft <= 0 }
  }

  return {
    read,
    list,
    below: places.below,
    walk,
    facts: async (place) => {
      const draft = draftAt(place)
      if (!draft) return confined.facts(place)
      if (draft.content === null) return { failed: `${place.asked} was taken away in this run` }
      return { kind: 'file', bytes: Buffer.byteLength(draft.content), modifiedMs: 0 }
    },
    shown: (file, how, hash) => add(pending, file, { how, hash }),
    delivered: () => {
      for (const [file, sight] of pending) add(seen, file, sight)
      pending.clear()
    },
    hasSeen: (file) => seen.get(file),
  }
}

/** A part takes nothing from the whole that was shown before, as long as it is of the same content. */
function add(sights: Map<string, Sight>, file: string, sight: Sight): void {
  const earlier = sights.get(file)
  if (sight.how === 'whole' || earlier?.how !== 'whole' || earlier.hash !== sight.hash) sights.set(file, sight)
}

/** Bytes that are no text are shown as what they are not, never as something else. */
function asText({ bytes }: Content): string {
  return bytes.toString('utf8')
}

/**
 * What a run has changed so far, in memory only: nothing is on disk before the run has ended well, and nothing has to be
 * taken back when it has not. Decides nothing.
 */

/**
 * `file`: from the memory directory on. `content`: `null` takes it away. `expect`: the hash of what was there when the run
 * first saw it, `null` for nothing. In the form in which the gate takes it.
 */
export type Draft = {
  file: string
  content: string | null
  expect: string | null
  because: { reason: string; evidence: readonly Evidence[] }
}

export type Overlay = {
  get(file: string): Draft | undefined
  put(draft: Draft): void
  /** In the order of their last change; a file that was made and taken away again is none. */
  drafts(): Draft[]
}

export function createOverlay(): Overlay {
  const drafts = new Map<string, Draft>()
  return {
    get: (file) => drafts.get(file),
    put: (draft) => {
      const earlier = drafts.get(draft.file)
      drafts.delete(draft.file)
      const evidence = merged(earlier?.because.evidence ?? [], draft.because.evidence)
      drafts.set(draft.file, { ...draft, because: { reason: draft.because.reason, evidence } })
    },
    drafts: () => [...drafts.values()].filter(({ content, expect }) => content !== null || expect !== null),
  }
}

function merged(earlier: readonly Evidence[], later: readonly Evidence[]): Evidence[] {
  const known = new Set(earlier.map((each) => JSON.stringify(each)))
  return [...earlier, ...later.filter((each) => !known.has(JSON.stringify(each)))]
}

/** Edit and Write: what they would leave is checked and put over what is there. Nothing reaches the disk from here. */

export type Cited = { evidence: Evidence[] } | { refused: string }

export type ChangeDeps = {
  workspace: Workspace
  overlay: Overlay
  /** Everything that would refuse the change when it is applied; `undefined` when nothing would. */
  check: (draft: Draft) => Promise<string | undefined>
  /** What the named messages say, or those that the content itself names; a change that rests on none that counts is refused. */
  cite: (ids: readonly string[], content: string | null) => Cited
  /** Why, where the model does not say. */
  reason: string
}

const CAP_CONTENT_CHARS = 1_000_000

type Edit = Extract<Permitted, { tool: 'Edit' }>
type Write = Extract<Permitted, { tool: 'Write' }>

export async function edit({ place, file, input }: Edit, deps: ChangeDeps): Promise<Output> {
  const { workspace, overlay } = deps
  const sight = workspace.hasSeen(file)
  if (!sight && !overlay.get(file)) return { denied: `read ${quoted(file)} before you edit it` }
  const seen = await workspace.read(place)
  if (isDenied(seen) || isFailed(seen)) return seen
  if (sight && !overlay.get(file) && sight.hash !== seen.hash) return changedSince(file)
  const { old_string: old, new_string: fresh, replace_all: all = false } = input
  if (old === fresh) return { failed: 'old_string and new_string are the same' }
  const times = countIn(seen.text, old)
  if (times === 0) return { failed: `old_string does not stand in ${quoted(file)}` }
  if (times > 1 && !all)
    return { failed: `old_string stands ${times} times in ${quoted(file)}; give more of what is around it` }
  // Two short strings can make a text that is longer than memory.
  if (seen.text.length + times * (fresh.length - old.length) > CAP_CONTENT_CHARS)
    return { denied: `${quoted(file)} would be longer than ${CAP_CONTENT_CHARS} characters` }
  return put(
    file,
    seen.text.replaceAll(old, () => fresh),
    seen.hash ?? null,
    input,
    deps,
  )
}

export async function write({ place, file, input }: Write, deps: ChangeDeps): Promise<Output> {
  const { workspace, overlay } = deps
  const content = input.content.trim() === '' ? null : input.content
  const facts = await workspace.facts(place)
  if (isDenied(facts)) return facts
  if (isFailed(facts)) {
    if (content === null) return facts
    if (workspace.hasSeen(file) && !overlay.get(file))
      return { denied: `${quoted(file)} was taken away since you read it; leave it so` }
    const twin = await twinOf(place, file, workspace)
    if (twin !== undefined)
      return { denied: `${quoted(file)} would stand beside ${quoted(twin)}, and some systems take one for the other` }
    return put(file, content, null, input, deps)
  }
  const sight = workspace.hasSeen(file)
  if (sight?.how !== 'whole' && !overlay.get(file))
    return { denied: `${quoted(file)} exists; read the whole of it before you write over it` }
  const seen = await workspace.read(place)
  if (isDenied(seen) || isFailed(seen)) return seen
  if (sight && !overlay.get(file) && sight.hash !== seen.hash) return changedSince(file)
  return put(file, content, seen.hash ?? null, input, deps)
}

/** A person may have written while the model was thinking: words that it never saw are not its to replace. */
function changedSince(file: string): Denied {
  return { denied: `${quoted(file)} has changed since you read it: read it again` }
}

function countIn(text: string, part: string): number {
  let count = 0
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count++
  return count
}

/** The gate would refuse it at the end, and with it the whole run. */
async function twinOf(place: Place, file: string, workspace: Workspace): Promise<string | undefined> {
  const names = file.split('/')
  const root = place.path.slice(0, -file.length - 1)
  for (const [depth, name] of names.entries()) {
    const entries = await workspace.list({
      ...place,
      path: join(root, ...names.slice(0, depth)),
      inMemory: names.slice(0, depth).join('/'),
    })
    if (isDenied(entries) || isFailed(entries)) return undefined
    if (entries.some((entry) => entry.name === name)) continue
    return entries.find((entry) => folded(entry.name) === folded(name))?.name
  }
  return undefined
}

function folded(name: string): string {
  return name.normalize('NFKC').toLowerCase()
}

type Because = { evidence?: string[] | undefined; reason?: string | undefined }

async function put(
  file: string,
  content: string | null,
  expect: string | null,
  { evidence: ids = [], reason }: Because,
  { overlay, check, cite, reason: usual }: ChangeDeps,
): Promise<string | Denied> {
  const cited = cite(ids, content)
  if ('refused' in cited) return { denied: cited.refused }
  // What was there before the run stays what must be there when it is applied.
  const earlier = overlay.get(file)
  const draft = {
    file,
    content,
    expect: earlier ? earlier.expect : expect,
    because: { reason: reason || usual, evidence: cited.evidence },
  }
  // Made and taken away within one run: there is nothing to refuse.
  const refused = content === null && draft.expect === null ? undefined : await check(draft)
  if (refused !== undefined) return { denied: refused }
  overlay.put(draft)
  return content === null
    ? `${file} will be taken away`
    : `${file} will be ${draft.expect === null ? 'created' : 'changed'}`
}
