/** The next moment that a cron expression names, in local time. node-cron reads it; it is loaded when first needed. */

/** The 29th of February on a given day of the week may be further away than anyone plans. */
const LONGEST_SEARCH_DAYS = 366 * 8

export type NextAfter = (expression: string, afterMs: number) => Promise<number>

/** Throws when the expression cannot be understood, or names no moment within years. */
export const nextAfter: NextAfter = async (expression, afterMs) => {
  const { createTask, parse } = await import('node-cron')
  const { hour, minute, second } = parse(expression)
  // Whether a day is meant is asked in a zone without changes of the clocks.
  const fields = expression.trim().split(/\s+/).slice(-3).join(' ')
  const days = createTask(`0 0 12 ${fields}`, () => {}, { timezone: 'UTC' })
  try {
    const from = new Date(afterMs)
    for (let day = 0; day <= LONGEST_SEARCH_DAYS; day++) {
      const date = [from.getFullYear(), from.getMonth(), from.getDate() + day] as const
      if (!days.match(new Date(Date.UTC(...date, 12)))) continue
      for (const h of hour) {
        if (day === 0 && h < from.getHours()) continue
        for (const m of minute)
          for (const s of second) {
            // A time that the change of the clocks leaves out comes an hour later, and is not skipped.
            const at = new Date(...date, h, m, s).getTime()
            if (at > afterMs) return at
          }
      }
    }
    throw new Error(`${expression} names no moment in the next eight years`)
  } finally {
    await days.destroy()
  }
}
