/**
 * What a dream would change, as a whole: a model's drafts over what is there now, then everything that needs no model, then
 * whether that loses anything. Pure: the same directory and drafts give the same plan.
 */
import { withoutPointer, withPointers } from '../memory/index-file.ts'
import { findDuplicates, type Merge } from './duplicates.ts'
import { foundIn, structuralLoss } from './guards.ts'
import { marked } from './marks.ts'
import { NO_REPAIRS, pointerTo, type Repairs, repairIndex } from './repairs.ts'
import { changedAmong, type Draft, INDEX, laidOver, type SeenDirectory, type Texts, textsOf } from './state.ts'
import { rareWords, rememberedWords, type WordsOf } from './words.ts'

export type PlannedWrite = {
  file: string
  content: string | null
  expect: string | null
  reason: string
  /** Memories that went and whose words stand here now: what they rest on, this rests on. */
  from: string[]
}

export type IndexSize = { lines: number; bytes: number }

/** In numbers, for they are kept: names and words are in the journal, which a purge knows. */
export type Counts = {
  created: number
  merged: number
  updated: number
  removed: number
  repairs: Repairs
  index: { before: IndexSize; after: IndexSize }
}

export type Plan = { writes: PlannedWrite[]; counts: Counts; losses: string[] }

type Asked = { drafts: readonly Draft[]; maxDeletions: number /** What else it may have been told. */; heard: string }

/** Stands behind the reason of what went because another memory says it now. */
export const MERGED_MARK = '(merged)'
const MERGED = 'another memory says all of it'
const REPAIRED = 'the index was put in order'
const TIDIED = 'put in order'

export function planDream(seen: SeenDirectory, { drafts, maxDeletions, heard }: Asked): Plan {
  const before = textsOf(seen)
  const indexBefore = seen.index?.text ?? ''
  const drafted = laidOver(before, drafts)
  const gone = (texts: Texts) => [...before.keys()].filter((file) => !texts.has(file)).length
  const wordsOf = rememberedWords()
  const after = marked(before, drafted, heard, wordsOf)
  // Who has put one of two back wants both.
  const mayGo = (file: string) => !seen.wasPutBack(file)
  const merges = findDuplicates(after, Math.max(0, maxDeletions - gone(after)), mayGo)
  for (const { file } of merges) after.delete(file)

  const own = drafts.find(({ file }) => file === INDEX)
  const asWritten = own ? (own.content ?? '') : withPointers(indexBefore, changedAmong(before, after).map(pointerTo))
  const exists = (file: string) => !before.has(file) && seen.exists(file)
  const removed = [...before.keys()].filter((file) => !after.has(file))
  // One that is no text, or a link, is not ours to write over.
  const isReadable = seen.index !== undefined || !seen.exists(INDEX)
  const { index, repairs } = isReadable
    ? repairIndex(removed.reduce(withoutPointer, asWritten), after, exists)
    : { index: indexBefore, repairs: NO_REPAIRS }
  // Of its own words, not of what was mended in them: who empties an index has lost it.
  const asLeft = own ? asWritten : index
  // Without drafts it is what the rules leave already.
  const isDrafted = isReadable && drafts.length > 0
  const indexes = { before: isDrafted ? withoutModel(seen, before, maxDeletions) : asLeft, after: asLeft }
  const losses = structuralLoss({ before, after, index: indexes, maxDeletions, wordsOf })
  const writes = writesOf({ seen, before, after, drafts, merges, wordsOf })
  if (index !== indexBefore)
    writes.push({
      file: INDEX,
      content: index,
      expect: own ? own.expect : (seen.index?.hash ?? null),
      reason: own?.because.reason ?? REPAIRED,
      from: [],
    })
  const of = (which: (write: PlannedWrite) => boolean) =>
    writes.filter((write) => write.file !== INDEX && which(write)).length
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

/** The index as rules alone would leave it: what they drop is lost by nobody. */
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
  wordsOf: WordsOf
}

function writesOf({ seen, before, after, drafts, merges, wordsOf }: Parts): PlannedWrite[] {
  const hashes = new Map(seen.memories.map(({ file, hash }) => [file, hash]))
  const byFile = new Map(drafts.map((draft) => [draft.file, draft]))
  const changed = changedAmong(before, after)
  const words = new Map(changed.map(([file, text]) => [file, wordsOf(text)]))
  const removed = [...before].filter(([file]) => !after.has(file))
  const merged = new Set(merges.map(({ file }) => file))
  const rare = rareWords(before.values(), wordsOf)
  const into = new Map(
    removed.map(([file, text]) => [file, merged.has(file) ? undefined : foundIn(rare(text), words, file)]),
  )
  const common = (file: string) => {
    const draft = byFile.get(file)
    return {
      file,
      // What was there when the model first saw it must be there still.
      expect: draft ? draft.expect : (hashes.get(file) ?? null),
      // The mark is ours: a model that writes it would have the report tell something else than what happened.
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

function sizeOf(index: string): IndexSize {
  const lines = index === '' ? 0 : index.split('\n').length - (index.endsWith('\n') ? 1 : 0)
  return { lines, bytes: Buffer.byteLength(index) }
}
