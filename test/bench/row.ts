/** The one shape of a row: what is claimed, what it is held against, and how both are measured. */
import type { Workbench } from './workbench.ts'

/** Without a bound the figure is shown and not judged. */
export type Goal = { unit: '×' | 'MB' | '%' | 'µs'; atMost?: number; atLeast?: number }

/** `middle`: the quartiles over the rounds, so that a noisy machine shows. */
export type Figure = { value: number; middle?: [low: number, high: number] }

export type Measured<F extends string = string> = {
  figures: Record<F, Figure>
  /** Absolute numbers behind the figures, units in their names. For the JSON only: they say nothing on another machine. */
  details: Record<string, number>
}

export type Row<F extends string = string> = {
  /** What `npm run bench -- <name>` selects by its beginning. */
  name: string
  what: string
  /** Nothing for a row whose goals are absolute. */
  yardstick: string | undefined
  goals: Record<F, Goal>
  run(bench: Workbench): Promise<Measured<F>>
}

export type Verdict = 'pass' | 'miss' | 'shown'

export function judge({ value }: Figure, { atMost, atLeast }: Goal): Verdict {
  if (atMost === undefined && atLeast === undefined) return 'shown'
  return value <= (atMost ?? Number.POSITIVE_INFINITY) && value >= (atLeast ?? Number.NEGATIVE_INFINITY)
    ? 'pass'
    : 'miss'
}
