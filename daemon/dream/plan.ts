/** What a dream would change: a model's drafts, then rules, then a check whether anything is lost. Pure. */
import type { DreamFacts } from '../../schema/dream.ts'
import type { PlannedWrite, SeenDirectory } from '../memory/consolidate.ts'
import { INDEX_FILE } from '../memory/file-names.ts'
import { isOutside, splitLines, withoutPointer, withPointers } from '../memory/index-file.ts'
import { POINTER_CHARS, type Pointer, readPointer, writePointer } from '../memory/pointer.ts'
import { isMemoryName } from '../memory/scan.ts'
import { hookOf, parseTopic } from '../memory/topic-file.ts'
import { changedAmong, foundIn, marked, structuralLoss, type Texts } from './dream-guards.ts'
import { createWords, findDuplicates, type Merge, type Words } from './duplicates.ts'

/** Numbers only: names and words are in the journal, which a purge knows. */
export type Counts = Pick<DreamFacts, 'created' | 'merged' | 'updated' | 'removed' | 'repairs' | 'index'>

type Plan = { writes: PlannedWrite[]; counts: Counts; losses: string[] }

type Asked = { drafts: readonly Draft[]; maxDeletions: number; heard: string }

export const MERGED_MARK = '(merged)'
const MERGED = 'another memory says all of it'
const REPAIRED = 'the index was put in order'
const TIDIED = 'put in order'

export function planDream(seen: SeenDirectory, { drafts, maxDeletions, heard }: Asked): Plan {
  const before = new Map(seen.memories.map(({ file, text }) => [file, text]))
  const indexBefore = seen.index?.text ?? ''
  const drafted = laidOver(before, drafts)
  const gone = (texts: Texts) => [...before.keys()].filter((file) => !texts.has(file)).length
  const words = createWords([...before.values()])
  const after = marked(before, drafted, heard, words)
  // A person who undid the last change of a memory wants it.
  const mayGo = (file: string) => !seen.wasPutBack(file)
  const merges = findDuplicates(after, Math.max(0, maxDeletions - gone(after)), mayGo)
  for (const { file } of merges) after.delete(file)

  const own = drafts.find(({ file }) => file === INDEX_FILE)
  const asWritten = own ? (own.content ?? '') : withPointers(indexBefore, changedAmong(before, after).map(pointerTo))
  const exists = (file: string) => !before.has(file) && seen.exists(file)
  const removed = [...before.keys()].filter((file) => !after.has(file))
  // A link or a file that is no text is left alone.
  const isReadable = seen.index !== undefined || !seen.exists(INDEX_FILE)
  const { index, repairs } = isReadable
    ? repairIndex(removed.reduce(withoutPointer, asWritten), after, exists)
    : { index: indexBefore, repairs: NO_REPAIRS }
  // Before repairs: a model that empties an index has lost it.
  const asLeft = own ? asWritten : index
  // Without drafts both are the same.
  const isDrafted = isReadable && drafts.length > 0
  const indexes = { before: isDrafted ? withoutModel(seen, before, maxDeletions) : asLeft, after: asLeft }
  const losses = structuralLoss({ before, after, index: indexes, maxDeletions, words })
  const writes = writesOf({ seen, before, after, drafts, merges, words })
  if (index !== indexBefore)
    writes.push({
      file: INDEX_FILE,
      content: index,
      expect: own ? own.expect : (seen.index?.hash ?? null),
      reason: own?.because.reason ?? REPAIRED,
      from: [],
    })
  const of = (which: (write: PlannedWrite) => boolean) =>
    writes.filter((write) => write.file !== INDEX_FILE && which(write)).length
  const mergedAway = new Set([...merges.map(({ file }) => file), ...writes.flatMap(({ from }) => from)])
  return {
    writes,
    losses,
    counts: {
      created: of(({ expect }) => expect === null),
      updated: of(({ content, expect }) => content !== null && expect !== null),
      merged: of(({ file, content }) => content === null && mergedAway.has(file)),
      removed: of(({ file, content }) => content === null && !mergedAway.has(file)),
      repairs,
      index: { before: sizeOf(indexBefore), after: sizeOf(index) },
    },
  }
}

/** What rules alone drop is no loss. */
function withoutModel(seen: SeenDirectory, before: Texts, maxDeletions: number): string {
  const kept = new Map(before)
  for (const { file } of findDuplicates(before, maxDeletions, (gone) => !seen.wasPutBack(gone))) kept.delete(file)
  return repairIndex(seen.index?.text ?? '', kept, (file) => !before.has(file) && seen.exists(file)).index
}

type Parts = {
  seen: SeenDirectory
  before: Texts
  after: Texts
  drafts: readonly Draft[]
  merges: readonly Merge[]
  words: Words
}

function writesOf({ seen, before, after, drafts, merges, words }: Parts): PlannedWrite[] {
  const hashes = new Map(seen.memories.map(({ file, hash }) => [file, hash]))
  const byFile = new Map(drafts.map((draft) => [draft.file, draft]))
  const changed = changedAmong(before, after)
  const known = new Map(changed.map(([file, text]) => [file, words.of(text)]))
  const removed = [...before].filter(([file]) => !after.has(file))
  const merged = new Set(merges.map(({ file }) => file))
  const into = new Map(
    removed.map(([file, text]) => [file, merged.has(file) ? undefined : foundIn(words.rare(text), known, file)]),
  )
  const common = (file: string) => {
    const draft = byFile.get(file)
    return {
      file,
      expect: draft ? draft.expect : (hashes.get(file) ?? null),
      // Only this file may write the mark, or else the report would be wrong.
      reason: merged.has(file) ? MERGED : (draft?.because.reason.replaceAll(MERGED_MARK, '') ?? TIDIED),
    }
  }
  return [
    ...changed.map(([file, text]) => ({
      ...common(file),
      content: text,
      from: [...into].flatMap(([gone, found]) => (found === file ? [gone] : [])),
    })),
    ...removed.map(([file]) => {
      const { reason, ...rest } = common(file)
      const isMerged = merged.has(file) || into.get(file) !== undefined
      return { ...rest, reason: isMerged ? `${reason} ${MERGED_MARK}` : reason, content: null, from: [] }
    }),
  ]
}

function sizeOf(index: string): Counts['index']['after'] {
  const lines = index === '' ? 0 : index.split('\n').length - (index.endsWith('\n') ? 1 : 0)
  return { lines, bytes: Buffer.byteLength(index) }
}

export type Draft = { file: string; content: string | null; expect: string | null; because: { reason: string } }

function laidOver(before: ReadonlyMap<string, string>, drafts: readonly Draft[]): Texts {
  const after = new Map(before)
  for (const { file, content } of drafts) {
    if (file === INDEX_FILE) continue
    if (content === null) after.delete(file)
    else after.set(file, content)
  }
  return after
}

const NO_REPAIRS: Counts['repairs'] = { dangling: 0, duplicate: 0, orphan: 0, long: 0 }

/** A person's line may be somewhat longer than ours. */
const LONG_CHARS = Math.round((POINTER_CHARS * 4) / 3)

/** Dangling and repeated pointers go, missing ones are added, long lines are cut. Everything else stays. */
function repairIndex(index: string, texts: Texts, exists: (file: string) => boolean) {
  const repairs = { ...NO_REPAIRS }
  const seen = new Set<string>()
  const lines = splitLines(index).flatMap((line) => {
    const pointer = readPointer(line.text)
    if (!pointer) return [line]
    const { file } = pointer
    if (seen.has(file)) {
      repairs.duplicate++
      return []
    }
    // What is no memory, such as an address, stays.
    if (isMemoryName(file) && !isOutside(pointer) && !texts.has(file) && !exists(file)) {
      repairs.dangling++
      return []
    }
    seen.add(file)
    if ([...line.text].length <= LONG_CHARS) return [line]
    repairs.long++
    return [{ ...line, text: writePointer(pointer, pointer) }]
  })
  const orphans = [...texts].filter(([file]) => !seen.has(file)).map(pointerTo)
  repairs.orphan = orphans.length
  return { index: withPointers(lines.map(({ text, end }) => text + end).join(''), orphans), repairs }
}

function pointerTo([file, text]: readonly [string, string]): Pointer {
  const topic = parseTopic(text)
  return { file, title: topic.name ?? file.replace(/\.md$/, ''), hook: hookOf(topic) }
}
