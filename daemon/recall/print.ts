/** Answers as JSON, put together from what was made of each memory before; the same as their schema would make of them. Pure. */
import type { RecallAnswer } from '../../schema/recall.ts'
import { escaped, type Json } from '../platform/ready-json.ts'
import { framed } from './surface.ts'

type Recalled = RecallAnswer['memories'][number]

/** What stays the same of a memory, however it is ranked: all but its score. `beyond`: bytes that it has more than characters. */
export type Printed = { before: string; beyond: number }

export function printed({ file, path, type, ageDays, trust, truncated, content }: Omit<Recalled, 'score'>): Printed {
  const same = JSON.stringify({ file, path, type, ageDays, trust, truncated, content })
  const before = `${same.slice(0, -1)},"score":`
  return { before, beyond: beyondOf(before) }
}

/** Added up for the parts of an answer, it tells the bytes of the whole. */
export function beyondOf(text: string): number {
  return Buffer.byteLength(text) - text.length
}

export function printedOne({ before }: Printed, score: number): string {
  return `${before}${score}}`
}

const [OPEN_JSON = '', CLOSE_JSON = ''] = framed('\0').split('\0').map(escaped)

/** `parts` of the text have been escaped; between the `memories` are commas; `beyond` is that of both. */
export function printedAnswer(
  { mode, bytes, sessionBytes, partial }: Pick<RecallAnswer, 'mode' | 'bytes' | 'sessionBytes' | 'partial'>,
  { memories, parts, beyond }: { memories: string; parts: string; beyond: number },
): Json {
  const text = `${OPEN_JSON}${parts}${CLOSE_JSON}`
  const rest = `"bytes":${bytes},"sessionBytes":${sessionBytes}${partial ? ',"partial":true' : ''}`
  const whole = `{"mode":"${mode}","memories":[${memories}],"text":"${text}",${rest}}`
  return { text: whole, bytes: whole.length + beyond }
}
