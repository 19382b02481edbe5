/** Which type a remembered sentence has, and how to call it, by rules and without a model. Pure. */
import { createHash } from 'node:crypto'
import type { MemoryType } from '../../schema/memory.ts'
import { oneLine, shorten } from './one-line.ts'

/** First match decides. Words of places come first: "always post in #deploys" is about where, yet said as a rule. */
const rules: readonly (readonly [MemoryType, RegExp])[] = [
  ['feedback', /\b(always|never|don'?t|do not|stop|avoid|instead of|rather than|make sure|please|must(n'?t| not)?)\b/i],
  ['feedback', /总是|永远|不要|别再|必须|请(?:用|先|不)|应该|尽量/],
  [
    'reference',
    /https?:\/\/|\b(dashboard|wiki|runbook|ticket|tracker|jira|linear|grafana|confluence|channel)\b|(^|\s)#[a-z][\w-]+/i,
  ],
  ['reference', /看板|文档在|频道|工单/],
  ['user', /\b(i am|i'?m|i work|i know|i prefer|i like|i use|my (role|job|name|team|background|editor))\b/i],
  ['user', /^我(?:是|在|喜欢|用|负责|的)/],
]

export function classify(text: string): MemoryType {
  return rules.find(([, pattern]) => pattern.test(text))?.[0] ?? 'project'
}

const TITLE_WORDS = 7
const TITLE_CHARS = 60
const DESCRIPTION_CHARS = 150

export type Named = { file: string; name: string; description: string }

/** A file name people can read where the text gives one, a short hash where it does not (another script, say). */
export function nameFor(text: string, type: MemoryType): Named {
  const line = oneLine(text)
  const name = shorten(
    line
      .split(' ')
      .slice(0, TITLE_WORDS)
      .join(' ')
      .replace(/[\s,.;:!?。，！？]+$/u, ''),
    TITLE_CHARS,
  )
  const words = name
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 50)
  const short = createHash('sha256').update(line).digest('hex').slice(0, 8)
  return {
    file: `${type}_${words.length >= 3 ? words : short}.md`,
    name,
    description: shorten(line, DESCRIPTION_CHARS),
  }
}
