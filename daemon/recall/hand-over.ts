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
    choice: { dir: string; corpus: Corpus; files: readonly string[]; k: number; scoreOf: (file: string) => number },
    room: { bytes: number; nowMs: number },
  ): Promise<Parcel>
}

/** `made` is nothing where it must not be given. */
type Kept = { stamp: string; made: { item: Item; shown: Shown } | undefined }

export function createHandOver({ redact, isRejected, rejections, stamp: stampOf }: HandOverDeps): HandOver {
  const kept = new Map<string, Kept>()
  let rejected = rejections()

  const make = async (dir: string, file: string, corpus: Corpus): Promise<Kept | undefined> => {
    const text = corpus.reread(file)
    if (!text) return undefined
    const { stamp } = text
    if (rejected !== '' && isRejected(dir, file, text.text)) return { stamp, made: undefined }
    // Cleaned before it is cut: half of a credential no longer looks like one.
    const clean = await redact(text.text)
    return { stamp, made: { item: text, shown: cutToSize(clean.text, `${dir}/${file}`) } }
  }

  const keptOf = (dir: string, file: string, corpus: Corpus): Kept | undefined => {
    const known = kept.get(`${dir}\n${file}`)
    if (!known) return undefined
    const stamp = corpus.fresh ? corpus.items.get(file)?.stamp : stampOf(dir, file)
    return known.stamp === stamp ? known : undefined
  }

  const renew = async (dir: string, file: string, corpus: Corpus): Promise<Kept | undefined> => {
    const key = `${dir}\n${file}`
    const made = await make(dir, file, corpus)
    kept.delete(key)
    if (made) kept.set(key, made)
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value as string)
    return made
  }

  return {
    pack: async ({ dir, corpus, files, k, scoreOf }, { bytes, nowMs }) => {
      const rejectedNow = rejections()
      if (rejectedNow !== rejected) kept.clear()
      rejected = rejectedNow
      const parcel: Parcel = { memories: [], text: '', handed: [], crowded: false }
      const parts: string[] = []
      let left = bytes - FRAME_BYTES
      for (const file of files) {
        if (parcel.memories.length >= k) break
        // One that is gone or rejected leaves its place to the next.
        const found = (keptOf(dir, file, corpus) ?? (await renew(dir, file, corpus)))?.made
        if (!found) continue
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
          score: scoreOf(file),
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
