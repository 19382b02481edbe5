/**
 * Turns chosen files into text for a context: read, compared with the disk, without credentials and without what was rejected,
 * cut, fenced, and no more than the session has room for. What was made of a file is kept for as long as the file stays.
 */
import type { RecallAnswer } from '../../schema/recall.ts'
import type { Corpus, Item } from './corpus.ts'
import { ageDays, cutToSize, FRAME_BYTES, framed, presented, type Shown } from './surface.ts'

const MOST_KEPT = 512

export type HandOverDeps = {
  redact: (text: string) => Promise<{ text: string }>
  /** Whether a person has rejected something that it says. */
  isRejected: (dir: string, file: string, text: string) => boolean
  /** Another one whenever something is rejected or no longer is; empty while nothing is. */
  rejections: () => string
  /** The stamp of a file as it is now; nothing when it is gone. */
  stamp: (dir: string, file: string) => string | undefined
}

export type Parcel = {
  memories: RecallAnswer['memories']
  text: string
  handed: { file: string; bytes: number }[]
  /** Something fitted the question and found no room. */
  crowded: boolean
}

export type HandOver = {
  pack(
    choice: { dir: string; corpus: Corpus; files: readonly string[]; k: number; scores: ReadonlyMap<string, number> },
    room: { bytes: number; nowMs: number },
  ): Promise<Parcel>
}

type Made = { item: Item; shown: Shown } | undefined

export function createHandOver({ redact, isRejected, rejections, stamp: stampOf }: HandOverDeps): HandOver {
  const kept = new Map<string, { stamp: string; made: Made }>()
  let rejected = rejections()

  const make = async (
    dir: string,
    file: string,
    corpus: Corpus,
  ): Promise<{ stamp: string; made: Made } | undefined> => {
    const text = corpus.reread(file)
    if (!text) return undefined
    const { stamp } = text
    if (rejected !== '' && isRejected(dir, file, text.text)) return { stamp, made: undefined }
    // Cleaned before it is cut: half of a credential no longer looks like one.
    const clean = await redact(text.text)
    return { stamp, made: { item: text, shown: cutToSize(clean.text, `${dir}/${file}`) } }
  }

  const get = async (dir: string, file: string, corpus: Corpus): Promise<Made> => {
    const key = `${dir}\n${file}`
    const known = kept.get(key)
    const stamp = corpus.fresh ? corpus.items.get(file)?.stamp : stampOf(dir, file)
    if (known && stamp !== undefined && known.stamp === stamp) return known.made
    const fresh = await make(dir, file, corpus)
    kept.delete(key)
    if (!fresh) return undefined
    kept.set(key, fresh)
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value as string)
    return fresh.made
  }

  return {
    pack: async ({ dir, corpus, files, k, scores }, { bytes, nowMs }) => {
      const rejectedNow = rejections()
      if (rejectedNow !== rejected) kept.clear()
      rejected = rejectedNow
      const parcel: Parcel = { memories: [], text: '', handed: [], crowded: false }
      const parts: string[] = []
      let left = bytes - FRAME_BYTES
      // Read beside each other; one that is gone or rejected leaves its place to the next.
      const made = await Promise.all(
        files.slice(0, 2 * k).map(async (file) => ({ file, made: await get(dir, file, corpus) })),
      )
      for (const { file, made: found } of made) {
        if (!found || parcel.memories.length >= k) continue
        const { item, shown } = found
        const path = `${dir}/${file}`
        const part = presented({ path, type: item.type, trust: item.trust, modifiedMs: item.modifiedMs, shown }, nowMs)
        const size = Buffer.byteLength(part)
        if (size > left) {
          parcel.crowded = true
          continue
        }
        left -= size
        parcel.handed.push({ file, bytes: size + (parts.length === 0 ? FRAME_BYTES : 0) })
        parts.push(part)
        parcel.memories.push({
          file,
          path,
          type: item.type,
          score: scores.get(file) ?? 0,
          ageDays: ageDays(nowMs - item.modifiedMs),
          trust: item.trust,
          truncated: shown.truncated,
          content: shown.content,
        })
      }
      return { ...parcel, text: framed(parts) }
    },
  }
}
