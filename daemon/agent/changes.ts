/** Edit and Write: what they would leave is checked and put over what is there. Nothing reaches the disk from here. */
import { join } from 'node:path'
import type { Evidence } from '../memory/journal.ts'
import { type Denied, isDenied, isFailed, type Output, quoted } from './denied.ts'
import type { Draft, Overlay } from './overlay.ts'
import type { Permitted } from './permission.ts'
import type { Place } from './places.ts'
import type { Workspace } from './workspace.ts'

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
