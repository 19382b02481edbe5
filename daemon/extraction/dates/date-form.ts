/** Calendar arithmetic without hours and zones: a day is a count since 1970-01-01. Pure. */

const DAY_MS = 86_400_000

export function dayOf(year: number, month: number, day: number): number {
  return Math.floor(Date.UTC(year, month - 1, day) / DAY_MS)
}

export function dayIn(year: number, month: number, day: number): number | undefined {
  const found = dayOf(year, month, day)
  const parts = partsOf(found)
  return parts.month === month && parts.day === day ? found : undefined
}

/** In the zone of the stamp, which may not be the day in UTC. */
export function localDay(atIso: string): number | undefined {
  const written = /^(\d{4})-(\d\d)-(\d\d)/.exec(atIso)
  return written ? dayOf(Number(written[1]), Number(written[2]), Number(written[3])) : undefined
}

export function partsOf(day: number) {
  const date = new Date(day * DAY_MS)
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    weekday: (date.getUTCDay() + 6) % 7,
  }
}

export function iso(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}

export function monthStart(day: number, monthsAway: number): number {
  const { year, month } = partsOf(day)
  return dayOf(year, month + monthsAway, 1)
}

export function monthEnd(day: number, monthsAway: number): number {
  return monthStart(day, monthsAway + 1) - 1
}

/** The same day of another month, or its last one where it is shorter. */
export function addMonths(day: number, months: number): number {
  return Math.min(monthStart(day, months) + partsOf(day).day - 1, monthEnd(day, months))
}

export function weekStart(day: number, weeksAway: number): number {
  return day - partsOf(day).weekday + weeksAway * 7
}

export function quarterOf(day: number) {
  const { year, month } = partsOf(day)
  return { year, quarter: Math.ceil(month / 3) }
}

/** A quarter that is over belongs to next year, unless the words look back. */
export function yearOfQuarter(quarter: number, { today, past }: Pick<Context, 'today' | 'past'>): number {
  const now = quarterOf(today)
  return past || quarter >= now.quarter ? now.year : now.year + 1
}

/** The fifth quarter is the first of the next year. */
export function quarterStart(year: number, quarter: number): number {
  return dayOf(year, quarter * 3 - 2, 1)
}

export function quarterEnd(year: number, quarter: number): number {
  return quarterStart(year, quarter + 1) - 1
}

/** Holidays count as working days: they differ from place to place. */
export function addWorkingDays(day: number, count: number): number {
  let at = day
  for (let left = Math.min(count, 1_000); left > 0; ) {
    at += 1
    if (partsOf(at).weekday < 5) left -= 1
  }
  return at
}

/** `past`: the words around speak of the past. `before`: the day named before this one. */
export type Context = { today: number; past: boolean; before: number | undefined }

export type Form = {
  pattern: RegExp
  /** The day, or text in its place; nothing where the words turn out to be no date. */
  says(match: RegExpExecArray, context: Context): number | Said | undefined
}

type Said = { text: string; day: number }

export function worded(day: number | undefined, words = ''): Said | undefined {
  return day === undefined ? undefined : { text: `${words}${iso(day)}`, day }
}

export function monthAway(today: number, monthsAway: number): Said {
  const day = monthStart(today, monthsAway)
  return { text: iso(day).slice(0, 7), day }
}

/** With its days, whatever calendar the reader has. */
export function quarterSpan(ofYear: number, count: number): Said {
  const { year, quarter } = quarterOf(quarterStart(ofYear, count))
  const day = quarterEnd(year, quarter)
  return { text: `Q${quarter} ${year} (${iso(quarterStart(year, quarter))}..${iso(day)})`, day }
}

/** The nearest such weekday, never today. */
export function nearest(weekday: number, { today, past }: Context): number {
  const ahead = (weekday - partsOf(today).weekday + 7) % 7
  return past ? today + ahead - 7 : today + (ahead || 7)
}

export function inWeek(weekday: number, today: number, weeksAway: number): number {
  return weekStart(today, weeksAway) + weekday
}

/** Between two 29ths of February there may be eight years. */
const FARTHEST_YEARS = 8

/** Without a year: the next one, or the last one if past. */
export function monthAndDay(month: number, day: number, { today, past }: Context): number | undefined {
  const first = partsOf(today).year - FARTHEST_YEARS
  const years = Array.from({ length: 2 * FARTHEST_YEARS + 1 }, (_, n) => first + n)
  const candidates = years.flatMap((year) => dayIn(year, month, day) ?? [])
  return past ? candidates.filter((each) => each <= today).at(-1) : candidates.find((each) => each >= today)
}

export function monthAlone(month: number, { today, past }: Context): number {
  const now = partsOf(today)
  const away = past ? Number(month > now.month) * -1 : Number(month < now.month)
  return dayOf(now.year + away, month, 1)
}

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
