/** What a tool tells of files, and of which of them it is the whole. Pure. */

/** `start`, `end`: where in the text the content of the file stands. `whole`: all of the file, if all of that is told. */
export type Shown = { file: string; hash: string; start: number; end: number; whole: boolean }
export type Told = { text: string; shows: Shown[] }

export const CAP_ANSWER_CHARS = 40_000
/** Nobody is shown more, so no call makes more of it than what tells that there is more. */
export const CAP_MADE_CHARS = 2 * CAP_ANSWER_CHARS

export function told(text: string, shows: Shown[] = []): Told {
  return { text, shows }
}

/** One after the other; what was shown moves along. */
export function joined(parts: readonly Told[]): Told {
  let text = ''
  const shows: Shown[] = []
  for (const part of parts) {
    const by = text.length
    shows.push(...part.shows.map((each) => ({ ...each, start: each.start + by, end: each.end + by })))
    text += part.text
  }
  return { text, shows }
}

/** What the model has seen once it has the first so many characters. Nothing of what begins behind them. */
export function seenOf({ shows }: Told, chars: number): { file: string; hash: string; how: 'part' | 'whole' }[] {
  return shows
    .filter(({ start, end }) => start < chars || (end === start && end <= chars))
    .map(({ file, hash, end, whole }) => ({ file, hash, how: whole && end <= chars ? 'whole' : 'part' }))
}

export function capped(text: string): string {
  if (text === '') return '(nothing)'
  return text.length > CAP_ANSWER_CHARS ? `${text.slice(0, CAP_ANSWER_CHARS)}\n(cut here; ask for less)` : text
}
