/** Answers as JSON, put together from what was made of each memory before; the same as their schema would make of them. Pure. */
import type { RecallAnswer } from '../../schema/recall.ts'
import { escaped } from '../platform/ready-json.ts'
import { framed } from './surface.ts'

type Recalled = RecallAnswer['memories'][number]

/** What stays the same of a memory, however it is ranked and however old it is. */
export type Printed = { before: string; after: string }

export function printed({ file, path, type, trust, truncated, content }: Omit<Recalled, 'score' | 'ageDays'>): Printed {
  return {
    before: `${JSON.stringify({ file, path, type }).slice(0, -1)},"score":`,
    after: `,${JSON.stringify({ trust, truncated, content }).slice(1)}`,
  }
}

export function printedOne(
  { before, after }: Printed,
  { score, ageDays }: Pick<Recalled, 'score' | 'ageDays'>,
): string {
  return `${before}${score},"ageDays":${ageDays}${after}`
}

const [OPEN_JSON = '', CLOSE_JSON = ''] = framed('\0').split('\0').map(escaped)

/** `parts` of the text have been escaped; between the `memories` are commas. */
export function printedAnswer(
  { mode, bytes, sessionBytes, partial }: Pick<RecallAnswer, 'mode' | 'bytes' | 'sessionBytes' | 'partial'>,
  { memories, parts }: { memories: string; parts: string },
): string {
  const text = `${OPEN_JSON}${parts}${CLOSE_JSON}`
  const rest = `"bytes":${bytes},"sessionBytes":${sessionBytes}${partial ? ',"partial":true' : ''}`
  return `{"mode":"${mode}","memories":[${memories}],"text":"${text}",${rest}}`
}
