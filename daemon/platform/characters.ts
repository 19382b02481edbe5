/** Parts of a text that end between characters: half of one cannot be written as UTF-8, and no server takes it. Pure. */

export function isWithinCharacter(text: string, at: number): boolean {
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(Math.max(0, at - 1), at + 1))
}

/** A part of a text keeps the whole of it in memory: a copy does not. */
export function copied(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le')
}

/** So many UTF-16 units of its beginning, or one more. */
export function headOf(text: string, units: number): string {
  return text.slice(0, isWithinCharacter(text, units) ? units + 1 : units)
}

/** The same of its end. */
export function tailOf(text: string, units: number): string {
  const from = Math.max(0, text.length - units)
  return text.slice(isWithinCharacter(text, from) ? from - 1 : from)
}
