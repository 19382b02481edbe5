/** What a soak must keep to. Pure. */
import { quantile } from '../bench/rounds.ts'

export type Minute = {
  hooks: number
  late: number
  hookP99Ms: number
  recallP99Ms: number
  errors: number
  rssBytes: number
  files: number
}

/** `writes`: journaled changes, and the bytes that their tables grew by. */
export type Soaked = { minutes: readonly Minute[]; logged: number; writes: number; writtenBytes: number }

export type Limit = { what: string; measured: number; atMost: number; unit: string; isKept: boolean }

const MOST_LATE_PERCENT = 1
const MOST_RSS_PERCENT = 5
const MOST_KB_PER_WRITE = 4

export function limits({ minutes, logged, writes, writtenBytes }: Soaked): Limit[] {
  const third = Math.floor(minutes.length / 3)
  const [second, last] = [minutes.slice(third, 2 * third), minutes.slice(2 * third)]
  const middle = (part: readonly Minute[], of: 'rssBytes' | 'files') =>
    quantile(
      part.map((minute) => minute[of]),
      0.5,
    )
  const sum = (of: 'hooks' | 'late' | 'errors') => minutes.reduce((total, minute) => total + minute[of], 0)
  const grownPercent = 100 * (middle(last, 'rssBytes') / middle(second, 'rssBytes') - 1)
  return [
    limit('errors that agents were answered', sum('errors'), 0, ''),
    limit('errors in the log', logged, 0, ''),
    limit('late hooks', (100 * sum('late')) / sum('hooks'), MOST_LATE_PERCENT, '%'),
    limit('memory, last third over second', grownPercent, MOST_RSS_PERCENT, '%'),
    limit('open files, last third over second', middle(last, 'files') - middle(second, 'files'), 0, ''),
    limit('history.db per write', writtenBytes / 1_024 / writes, MOST_KB_PER_WRITE, 'KB'),
  ]
}

function limit(what: string, measured: number, atMost: number, unit: string): Limit {
  return { what, measured, atMost, unit, isKept: measured <= atMost }
}

export function missed(lines: readonly Limit[]): number {
  return lines.filter(({ isKept }) => !isKept).length
}
