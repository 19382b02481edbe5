/** Whether a cron expression is one: every field within its bounds, and a day that comes. Pure. */

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const LONGEST_MONTH = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

type Field = { name: string; from: number; to: number; words?: readonly string[] }

const SECOND: Field = { name: 'second', from: 0, to: 59 }
const FIELDS: readonly Field[] = [
  { name: 'minute', from: 0, to: 59 },
  { name: 'hour', from: 0, to: 23 },
  { name: 'day of the month', from: 1, to: 31 },
  { name: 'month', from: 1, to: 12, words: MONTHS },
  { name: 'day of the week', from: 0, to: 7, words: WEEKDAYS },
]

/** What is wrong with it; nothing when it is right. */
export function cronProblem(expression: string): string | undefined {
  const parts = expression.trim().split(/\s+/)
  // How many there are is checked by the pattern, which editors know as well.
  if (parts.length < 5 || parts.length > 6) return undefined
  const fields = parts.length === 6 ? [SECOND, ...FIELDS] : FIELDS
  const values = fields.map((field, n) => valuesOf(parts[n] ?? '', field))
  const wrong = values.indexOf(undefined)
  if (wrong !== -1) {
    const { name, from, to } = fields[wrong] as Field
    return `expected a ${name} from ${from} to ${to}, got ${JSON.stringify(parts[wrong])}`
  }
  const [days, months, weekday] = [values.at(-3) ?? [], values.at(-2) ?? [], parts.at(-1)]
  const comes = weekday !== '*' || months.some((month) => days.some((day) => day <= (LONGEST_MONTH[month - 1] ?? 0)))
  return comes ? undefined : 'no month it names has such a day'
}

// `*`, `5`, `1-5`, `*/2`, `mon-fri`, and lists of these.
function valuesOf(text: string, { from, to, words = [] }: Field): number[] | undefined {
  const values: number[] = []
  for (const part of text.split(',')) {
    const [, range = '', step = '1'] = /^([^/]+)(?:\/(\d{1,4}))?$/.exec(part) ?? []
    const bounds = range === '*' ? [from, to] : range.split('-').map((bound) => numberOf(bound, words, from))
    const [first = Number.NaN, last = part.includes('/') ? to : first] = bounds
    if (bounds.length > 2 || Number(step) < 1 || !(first >= from && last <= to && first <= last)) return undefined
    for (let value = first; value <= last; value += Number(step)) values.push(value)
  }
  return values
}

function numberOf(text: string, words: readonly string[], from: number): number {
  const word = words.indexOf(text.toLowerCase().slice(0, 3))
  if (word !== -1 && /^[a-z]+$/i.test(text)) return word + from
  return /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN
}
