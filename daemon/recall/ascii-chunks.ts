/**
 * Words, identifiers and paths in a text of ASCII: letters, digits and underscores, with single signs between them. Sign by sign,
 * which for the few words of a question takes half as long as a regular expression. Pure.
 */

const OTHER = 0
const SMALL = 1
const CAPITAL = 2
const UNDERSCORE = 3
/** Joins what stands on both of its sides. */
const JOINT = 4

const KINDS = new Uint8Array(128)
for (let code = 48; code <= 57; code++) KINDS[code] = SMALL
for (let code = 97; code <= 122; code++) KINDS[code] = SMALL
for (let code = 65; code <= 90; code++) KINDS[code] = CAPITAL
KINDS['_'.charCodeAt(0)] = UNDERSCORE
for (const sign of ".-/:'@#") KINDS[sign.charCodeAt(0)] = JOINT

/** Where the next one begins; the length of the text where there is none. */
export function chunkStart(text: string, from: number): number {
  let at = from
  while (at < text.length && !isInside(text, at)) at++
  return at
}

/** Where the one that begins there ends. */
export function chunkEnd(text: string, start: number): number {
  let at = start + 1
  while (at < text.length) {
    if (isInside(text, at)) at++
    else if (KINDS[text.charCodeAt(at)] === JOINT && isInside(text, at + 1)) at += 2
    else break
  }
  return at
}

/** Nothing to take apart: no hump, no mark, no single capital. */
export function isPlainWord(text: string, start: number, end: number): boolean {
  const rest = KINDS[text.charCodeAt(start)] === CAPITAL ? start + 1 : start
  for (let at = rest; at < end; at++) if (KINDS[text.charCodeAt(at)] !== SMALL) return false
  return rest < end
}

function isInside(text: string, at: number): boolean {
  const kind = at < text.length ? KINDS[text.charCodeAt(at)] : OTHER
  return kind === SMALL || kind === CAPITAL || kind === UNDERSCORE
}
