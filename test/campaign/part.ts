/** What `npm run campaign` gives to its parts, and what they give back. */
import { appendFileSync } from 'node:fs'
import { inject } from 'vitest'
import { seeded } from '../support/seed.ts'

export type CampaignOptions = {
  rounds: number | undefined
  minutes: number | undefined
  seed: number
  /** Where rows go, one JSON object a line. */
  out: string
}

/** A row of the table: `problems` is empty where nothing was lost. */
export type Row = { row: string; tried: number; problems: readonly string[]; more: string }

declare module 'vitest' {
  interface ProvidedContext {
    campaign: CampaignOptions
  }
}

/** `rounds`: as many as a full run has. */
export function beginPart({ rounds }: { rounds: number }) {
  const options = inject('campaign')
  const endMs = options.minutes === undefined ? Number.POSITIVE_INFINITY : performance.now() + options.minutes * 60_000
  const beganMs = performance.now()
  return {
    rounds: options.rounds ?? (options.minutes === undefined ? rounds : Number.POSITIVE_INFINITY),
    minutes: options.minutes,
    seed: options.seed,
    isOver: () => performance.now() > endMs,
    /** Two that do not disturb each other: the clients throw theirs in an order that the machine decides. */
    dice: () => ({ kinds: seeded('kinds', options.seed), clients: seeded('clients', options.seed + 1) }),
    report: ({ row, tried, problems, more }: Row) => {
      const minutes = Math.round((performance.now() - beganMs) / 6_000) / 10
      appendFileSync(
        options.out,
        `${JSON.stringify({ row, tried, failed: problems.length, minutes, more, problems })}\n`,
      )
    },
  }
}
