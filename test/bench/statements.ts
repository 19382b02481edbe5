/**
 * How well the rules find what a person states: messages with the right answers in, shares out. The text is redacted first,
 * as it is before anything else sees it. Scoring is by plain comparison, so that anyone can do it again from the items.
 */
import { z } from 'zod'
import { type Statement, statementsIn } from '../../daemon/extraction/statements.ts'
import { redact } from '../../daemon/secrets/redact.ts'
import { MemoryType } from '../../schema/values.ts'
import type { DataBench } from './data-bench.ts'

export const StatementItem = z.object({
  id: z.string(),
  lang: z.string(),
  ts: z.iso.datetime({ offset: true }),
  prev_assistant: z.string().nullable(),
  message: z.string(),
  durable: z.boolean(),
  type: MemoryType.nullable(),
  must_include: z.array(z.string()),
  must_not_include: z.array(z.string()),
  /** `[date: tomorrow => 2026-05-13]` for each date, `[secret]` where `must_not_include` holds one. */
  note: z.string(),
})
export type StatementItem = z.infer<typeof StatementItem>

/** Shares are of nothing where nothing was to be counted; that is no failure. */
const share = (part: number, whole: number) => ({ value: whole === 0 ? 100 : (100 * part) / whole })

export type Scored = {
  id: string
  lang: string
  durable: boolean
  found: boolean
  /** Of what was found in a durable message, and nothing of other messages. */
  typeRight: boolean | undefined
  kept: boolean | undefined
  leftOut: boolean | undefined
  datesRight: number
  dates: number
  secretSaved: boolean | undefined
  memories: Pick<Statement, 'type' | 'name' | 'description' | 'body' | 'quote'>[]
}

export async function score(item: StatementItem): Promise<Scored> {
  const { text } = await redact(item.message)
  const found = statementsIn({ text, atIso: item.ts, previousAssistant: item.prev_assistant ?? undefined })
  const memories = found.map(({ type, name, description, body, quote }) => ({ type, name, description, body, quote }))
  const saved = memories.map(({ name, description, body }) => `${name}\n${description}\n${body}`).join('\n')
  const everything = [saved, ...memories.map(({ quote }) => quote)].join('\n')
  const judged = item.durable && memories.length > 0
  const dates = judged ? [...item.note.matchAll(/\[date: .*?=> ([^\]]+)\]/g)].map(([, day = '']) => day.trim()) : []
  const isSecret = item.note.includes('[secret]')
  return {
    id: item.id,
    lang: item.lang,
    durable: item.durable,
    found: memories.length > 0,
    typeRight: judged ? memories[0]?.type === item.type : undefined,
    kept: judged && item.must_include.length > 0 ? item.must_include.every((part) => has(saved, part)) : undefined,
    leftOut:
      judged && item.must_not_include.length > 0 ? !item.must_not_include.some((part) => has(saved, part)) : undefined,
    datesRight: dates.filter((day) => saved.includes(day)).length,
    dates: dates.length,
    secretSaved: isSecret ? item.must_not_include.some((part) => everything.includes(part)) : undefined,
    memories,
  }
}

function has(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase())
}

export function figuresOf(scored: readonly Scored[]) {
  const count = (holds: (each: Scored) => boolean | undefined) => scored.filter((each) => holds(each) === true).length
  const sum = (of: (each: Scored) => number) => scored.reduce((sofar, each) => sofar + of(each), 0)
  const right = count(({ durable, found }) => durable && found)
  return {
    precision: share(
      right,
      count(({ found }) => found),
    ),
    recall: share(
      right,
      count(({ durable }) => durable),
    ),
    type: share(
      count(({ typeRight }) => typeRight),
      count(({ typeRight }) => typeRight !== undefined),
    ),
    dates: share(
      sum(({ datesRight }) => datesRight),
      sum(({ dates }) => dates),
    ),
    kept: share(
      count(({ kept }) => kept),
      count(({ kept }) => kept !== undefined),
    ),
    'left out': share(
      count(({ leftOut }) => leftOut),
      count(({ leftOut }) => leftOut !== undefined),
    ),
    'silent when nothing is said': share(
      count(({ durable, found }) => !durable && !found),
      count(({ durable }) => !durable),
    ),
    // Not a share of nothing: without secrets among the messages none was saved.
    'secrets saved': { value: (100 * count(({ secretSaved }) => secretSaved)) / Math.max(1, scored.length) },
  }
}

export const statements: DataBench = {
  name: 'statements',
  what: 'what the rules find in messages, without a model',
  goals: {
    precision: { unit: '%', atLeast: 92 },
    recall: { unit: '%', atLeast: 45 },
    type: { unit: '%', atLeast: 85 },
    dates: { unit: '%', atLeast: 95 },
    kept: { unit: '%' },
    'left out': { unit: '%' },
    'silent when nothing is said': { unit: '%' },
    'secrets saved': { unit: '%', atMost: 0 },
  },
  item: StatementItem,
  async run(items) {
    const scored: Scored[] = []
    for (const item of items) scored.push(await score(StatementItem.parse(item)))
    return { figures: figuresOf(scored), details: { messages: scored.length }, items: scored }
  },
}
