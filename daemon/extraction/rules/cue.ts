/** One cue: words that make it more or less likely that a sentence states something durable. */
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

/** Words that take weight away; `veto` says that no cue can outweigh them. */
export type Doubt = {
  name: string
  weight: number | 'veto'
  pattern: RegExp
  /** Speaks only against these types; against all when not given. */
  against?: readonly MemoryType[]
}

/** Signs that nobody types: they stand in a sentence for what was found in it, so that a cue can ask for any of its kind. */

/** Stands for a date. */
export const DATE_MARK = '\u2402'
/** Stands before the name of a system. */
export const SYSTEM_MARK = '\u2403'
/** Stands for an address. */
export const ADDRESS_MARK = '\u2404'
