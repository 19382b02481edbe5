/** Cues: words that make it more or less likely that a sentence states something durable; and doubts, which take weight away. */
import type { MemoryType } from '../../../schema/memory.ts'

export type Cue = {
  /** What it found, for the evidence of a decision. */
  name: string
  /** `any` says that something is durable and not what: the other cues of the sentence name the type. */
  type: MemoryType | 'any'
  /** A sentence is taken from 1 on. */
  weight: number
  /** Over a sentence whose quotes and code are blanked out. */
  pattern: RegExp
  /** Counts only as an answer to something the assistant said or did. */
  answers?: true
  /** Counts only as an answer to words like these. */
  to?: RegExp
  /** The sentence complains; what the next one tells to do is the rule. */
  remedyFollows?: true
}

export type Doubt = {
  name: string
  /** `veto`: no cue can outweigh it. */
  weight: number | 'veto'
  pattern: RegExp
  /** Speaks only against these types; against all when not given. */
  against?: readonly MemoryType[]
}

/** A table with a line for each: weight and name, then the pattern. */
type Table<Rule extends Cue | Doubt> = Record<string, RegExp | RegExp[] | Omit<Rule, 'name' | 'type' | 'weight'>>

export const cuesOf = (type: Cue['type'], table: Table<Cue>): Cue[] =>
  rowsOf(table).map(({ weight, ...row }) => ({ ...row, type, weight: Number(weight) }))

export const doubtsOf = (table: Table<Doubt>): Doubt[] =>
  rowsOf(table).map(({ weight, ...row }) => ({ ...row, weight: weight === 'veto' ? weight : Number(weight) }))

/** A pattern that counts only as an answer. */
export const answer = (pattern: RegExp) => ({ pattern, answers: true as const })

function rowsOf<Rule extends Cue | Doubt>(table: Table<Rule>) {
  return Object.entries(table).flatMap(([key, value]) => {
    const [weight = ''] = key.split(' ', 1)
    const rows = Array.isArray(value) ? value : [value]
    return rows.map((row) => ({
      name: key.slice(weight.length + 1),
      weight,
      ...(row instanceof RegExp ? { pattern: row } : row),
    }))
  })
}

/** Marks stand in a sentence for what was found in it, so that a cue can ask for any of its kind. People do not type them. */
export const DATE_MARK = '\u2402'
/** Before the name of a system. */
export const SYSTEM_MARK = '\u2403'
export const ADDRESS_MARK = '\u2404'
