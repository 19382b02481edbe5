/**
 * Turns chosen files into text for a context: read, compared with the disk, without credentials and without what was rejected,
 * cut, fenced, and no more than the session has room for. What was made of a file is kept for as long as the file stays.
 */
import type { RecallAnswer } from '../../schema/recall.ts'
import { escaped } from '../platform/ready-json.ts'
import type { Corpus } from './corpus.ts'
import { beyondOf, type Printed, printed, printedOne } from './print.ts'
import type { Item } from './shelf.ts'
import { ageDays, ageKey, cutToSize, FRAME_BYTES, framed, presented, type Shown } from './surface.ts'

const MOST_KEPT = 512
/** Of longer texts the beginning is cleaned and made harmless, as long as what is shown ends well before it does. */
const CLEANED_CHARS = 32_768
const SPARE_BYTES = 8_192

export type HandOverDeps = {
  redact: (text: string) => Promise<{ text: string }>
  /** Whether a person has rejected something that it says. */
  isRejected: (dir: string, file: string, text: string) => boolean
  /** Another one whenever something is rejected or no longer is; empty while nothing is. */
  rejections: () => string
  /** What a text names and the project of a directory no longer has; a few of it. */
  driftOf: (dir: string, text: string) => readonly string[]
  /** The stamp of a file as it is now; nothing when it is gone. */
  stamp: (dir: string, file: string) => string | undefined
}

type Recalled = RecallAnswer['memories'][number]

export type Parcel = {
  memories: Recalled[]
  text: string
  bytes: number
  handed: { file: string; bytes: number }[]
  /** The memories and the parts of the text as JSON, and the bytes that these have more than characters. */
  json: { memories: string; parts: string; beyond: number }
  /** Something fitted the question and found no room. */
  crowded: boolean
}

/** Of a file that is the nth of those chosen. */
type ScoreOf = (file: string, n: number) => number

export type HandOver = {
  pack(
    choice: { dir: string; corpus: Corpus; files: readonly string[]; k: number; scoreOf: ScoreOf },
    room: { bytes: number; nowMs: number },
  ): Promise<Parcel>
}

/** What is made of a file once. Of what is given of it only its age changes, and that is seldom. */
type Made = { path: string; item: Item; shown: Shown; part: Part | undefined }
/** What is given of it at one age: its part of the text, and the memory without its score. `beyond`: bytes that the JSON of both has more than characters. */
type Part = {
  age: number
  text: string
  bytes: number
  json: string
  memory: Omit<Recalled, 'score'>
  printed: Printed
  beyond: number
}
/** `made` is nothing where it must not be given. */
type Kept = { stamp: string; made: Made | undefined }

export function createHandOver({ redact, isRejected, rejections, driftOf, stamp: stampOf }: HandOverDeps): HandOver {
  /** By directory, then by file: a path made of both would have to be read anew each time. */
  const kept = new Map<string, Map<string, Kept>>()
  let size = 0
  let rejected = rejections()

  /** Cleaned before it is cut: half of a credential no longer looks like one. Of a long text only what may be shown of it. */
  const shownOf = async (text: string, path: string): Promise<Shown> => {
    if (text.length > CLEANED_CHARS) {
      const begun = cutToSize((await redact(text.slice(0, CLEANED_CHARS))).text, path, sizeOf(text))
      // So far from where the text was cut that nothing of what may have been cut there shows.
      if (begun.spareBytes >= SPARE_BYTES) return begun
    }
    return cutToSize((await redact(text)).text, path)
  }

  const make = async (dir: string, file: string, corpus: Corpus): Promise<Kept | undefined> => {
    const text = corpus.reread(file)
    if (!text) return undefined
    const { stamp } = text
    if (rejected !== '' && isRejected(dir, file, text.text)) return { stamp, made: undefined }
    // A name is told with what it stands for, and cannot be told without what it gives away. Its ending would hide that.
    const name = file.replace(/\.md$/, '')
    if ((await redact(name)).text !== name) return { stamp, made: undefined }
    const { text: _text, body: _body, settled: _settled, ...item } = text
    const path = `${dir}/${file}`
    const shown = await shownOf(text.text, path)
    return { stamp, made: { path, item, shown, part: undefined } }
  }

  const keptOf = (dir: string, file: string, corpus: Corpus): Kept | undefined => {
    const known = kept.get(dir)?.get(file)
    if (!known) return undefined
    const stamp = corpus.fresh ? corpus.items.get(file)?.stamp : stampOf(dir, file)
    return known.stamp === stamp ? known : undefined
  }

  const renew = async (dir: string, file: string, corpus: Corpus): Promise<Kept | undefined> => {
    const made = await make(dir, file, corpus)
    drop(dir, file)
    if (made) keep(dir, file, made)
    return made
  }

  const keep = (dir: string, file: string, made: Kept): void => {
    kept.set(dir, (kept.get(dir) ?? new Map<string, Kept>()).set(file, made))
    size++
    if (size <= MOST_KEPT) return
    const [first] = kept
    if (first) drop(first[0], first[1].keys().next().value as string)
  }

  const drop = (dir: string, file: string): void => {
    const files = kept.get(dir)
    if (!files?.delete(file)) return
    size--
    if (files.size === 0) kept.delete(dir)
  }

  return {
    pack: async ({ dir, corpus, files, k, scoreOf }, { bytes, nowMs }) => {
      const rejectedNow = rejections()
      if (rejectedNow !== rejected) {
        kept.clear()
        size = 0
      }
      rejected = rejectedNow
      const memories: Parcel['memories'] = []
      const handed: Parcel['handed'] = []
      const json = { memories: '', parts: '', beyond: 0 }
      let parts = ''
      let crowded = false
      let left = bytes - FRAME_BYTES
      for (let n = 0; n < files.length && memories.length < k; n++) {
        const file = files[n] as string
        // One that is gone or rejected leaves its place to the next.
        const known = keptOf(dir, file, corpus)
        const found = (known ?? (await renew(dir, file, corpus)))?.made
        if (!found) continue
        const part = partOf(found, nowMs, (text) => driftOf(dir, text))
        if (part.bytes > left) {
          crowded = true
          continue
        }
        left -= part.bytes
        handed.push({ file, bytes: part.bytes + (parts === '' ? FRAME_BYTES : 0) })
        parts += part.text
        json.parts += part.json
        const score = scoreOf(file, n)
        memories.push(scored(part.memory, score))
        if (json.memories !== '') json.memories += ','
        json.memories += printedOne(part.printed, score)
        json.beyond += part.beyond
      }
      const used = parts === '' ? 0 : bytes - left
      return { memories, text: framed(parts), bytes: used, handed, json, crowded }
    },
  }
}

/** Field by field: a copy to which one is added gets a shape of its own from V8 each time, which it keeps until it tidies up. */
function scored({ file, path, type, ageDays, trust, truncated, content }: Part['memory'], score: number): Recalled {
  return { file, path, type, ageDays, trust, truncated, content, score }
}

/** What a project no longer has is looked for when its age is told anew: once a day, for most. */
function partOf(made: Made, nowMs: number, driftOf: (text: string) => readonly string[]): Part {
  const { path, item, shown } = made
  const age = ageKey(nowMs - item.modifiedMs)
  if (made.part?.age === age) return made.part
  const { file, type, trust, modifiedMs } = item
  const { truncated, content } = shown
  const text = presented({ path, type, trust, modifiedMs, missing: driftOf(content), shown }, nowMs)
  const json = escaped(text)
  const memory = { file, path, type, ageDays: ageDays(nowMs - modifiedMs), trust, truncated, content }
  const inJson = printed(memory)
  const beyond = beyondOf(json) + inJson.beyond
  made.part = { age, text, bytes: Buffer.byteLength(text), json, memory, printed: inJson, beyond }
  return made.part
}

function sizeOf(text: string): { lines: number; bytes: number } {
  return { lines: text.replace(/\n$/, '').split('\n').length, bytes: Buffer.byteLength(text) }
}
