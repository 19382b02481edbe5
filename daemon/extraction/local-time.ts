/** A moment as the clock on the wall showed it: "tomorrow" is a person's own. Pure but for the zone of the machine. */

export function localStamp(ms: number): string {
  const minutesEast = -new Date(ms).getTimezoneOffset()
  const wall = new Date(ms + minutesEast * 60_000).toISOString().slice(0, -1)
  const [hours, minutes] = [Math.trunc(Math.abs(minutesEast) / 60), Math.abs(minutesEast) % 60]
  return `${wall}${minutesEast < 0 ? '-' : '+'}${two(hours)}:${two(minutes)}`
}

function two(count: number): string {
  return String(count).padStart(2, '0')
}
