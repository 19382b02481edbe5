/**
 * The files as one run sees them: those on disk within reach, with its own changes over them. Remembers what the model
 * has been shown. Fresh for every run.
 */
import { type Content, createConfined, type Entry, type Facts } from './confined-file.ts'
import { type Denied, type Failed, isDenied, isFailed } from './denied.ts'
import type { Overlay } from './overlay.ts'
import type { Pace } from './pace.ts'
import type { Place, Places } from './places.ts'

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
