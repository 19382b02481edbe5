/** One way to say a date that only means something on the day it is said: how it looks and which day it means. */
import {
  dayIn,
  iso,
  monthEnd,
  monthStart,
  partsOf,
  quarterEnd,
  quarterStart,
  type Weekday,
  weekStart,
} from './calendar.ts'

export type Context = {
  /** The day of the message. */
  today: number
  /** Whether the words around tell of something that is over. */
  past: boolean
  /** The day the text named before this one. */
  before: number | undefined
}

export type Form = {
  /** Global; its first group, where there is one, may be looked at by `says`. */
  pattern: RegExp
  /** What stands there instead; nothing where the words turn out to be no date. */
  says(match: RegExpExecArray, context: Context): { text: string; day: number } | undefined
}

export const plain = (day: number) => ({ text: iso(day), day })

/** A quarter with its days, so that nobody has to know whose calendar it is; its last day counts. */
export function quarterSpan(year: number, quarter: number): { text: string; day: number } {
  const day = quarterEnd(year, quarter)
  return { text: `Q${quarter} ${year} (${iso(quarterStart(year, quarter))}..${iso(day)})`, day }
}

/** The nearest such weekday, never today. */
export function nearest(weekday: Weekday, { today, past }: Context): number {
  const ahead = (weekday - partsOf(today).weekday + 7) % 7
  if (past) return today - (ahead === 0 ? 7 : 7 - ahead)
  return today + (ahead === 0 ? 7 : ahead)
}

export function inWeek(weekday: Weekday, today: number, weeksAway: number): number {
  return weekStart(today, weeksAway) + weekday
}

/** Between two 29ths of February there may be eight years. */
const FARTHEST_YEARS = 8

/** A month and a day without a year: the next one, or the last one of what is over. */
export function monthAndDay(month: number, day: number, { today, past }: Context): number | undefined {
  const first = partsOf(today).year - FARTHEST_YEARS
  const years = Array.from({ length: 2 * FARTHEST_YEARS + 1 }, (_, n) => first + n)
  const candidates = years.flatMap((year) => dayIn(year, month, day) ?? [])
  return past ? candidates.filter((each) => each <= today).at(-1) : candidates.find((each) => each >= today)
}

/** A month alone: this year's, or the one before or after where the words point there. */
export function monthAlone(month: number, { today, past }: Context): { year: number; month: number } {
  const now = partsOf(today)
  if (past) return { year: month <= now.month ? now.year : now.year - 1, month }
  return { year: month >= now.month ? now.year : now.year + 1, month }
}

/** A day of a month that is named by how far away it is, or its last one where it is shorter. */
export function dayOfMonthAway(day: number, today: number, monthsAway: number): number | undefined {
  if (day < 1 || day > 31) return undefined
  return Math.min(monthStart(today, monthsAway) + day - 1, monthEnd(today, monthsAway))
}

/** "the 15th": of this month, or the nearest other one that has such a day. */
export function dayOfMonth(day: number, { today, past }: Context): number | undefined {
  if (day < 1 || day > 31) return undefined
  const step = past ? -1 : 1
  for (let away = 0; Math.abs(away) < 12; away += step) {
    const start = monthStart(today, away)
    const found = start + day - 1
    if (partsOf(found).day !== day) continue
    if (past ? found <= today : found >= today) return found
  }
  return undefined
}
