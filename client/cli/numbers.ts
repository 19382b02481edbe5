/** Numbers on the command line: told with what they count, and asked for within what the daemon takes. */

/** `1 file`, `2 files`. */
export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

const MOST_ASKED = 999

/** What a person asked for, as near to it as a query allows. */
export function asked(number: number): string {
  return String(Math.min(Math.max(number, 1), MOST_ASKED))
}
