/** A moment as the clock on the wall showed it: "tomorrow" is a person's own. Pure but for the zone of the machine. */
import { stampAt } from '../platform/stamps.ts'

/** `minutesEast`: where the person was, if that was said; or else where the machine is. */
export function localStamp(ms: number, minutesEast = -new Date(ms).getTimezoneOffset()): string {
  return stampAt(ms, minutesEast)
}
