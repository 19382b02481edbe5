/** Moments as a clock on some wall showed them. Pure. */

/** ISO 8601 with the zone: the day in it is the day it was there. */
export function stampAt(ms: number, minutesEast: number): string {
  const wall = new Date(ms + minutesEast * 60_000).toISOString().slice(0, -1)
  const [hours, minutes] = [Math.trunc(Math.abs(minutesEast) / 60), Math.abs(minutesEast) % 60]
  return `${wall}${minutesEast < 0 ? '-' : '+'}${two(hours)}:${two(minutes)}`
}

function two(count: number): string {
  return String(count).padStart(2, '0')
}
