/** Local calendar days, as money is counted by them. Pure. */

export function dayOf(ms: number): string {
  const date = new Date(ms)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

export function nextDayMs(ms: number): number {
  const date = new Date(ms)
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + 1).getTime()
}

/** The day so many days before. */
export function dayBefore(ms: number, days: number): string {
  const date = new Date(ms)
  return dayOf(new Date(date.getFullYear(), date.getMonth(), date.getDate() - days, 12).getTime())
}
