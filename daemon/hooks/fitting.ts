/** Makes a text fit what a harness takes: whole lines, the most useful parts first. Pure. */

/** So many UTF-16 units at most, never half of a pair, at the end of a line where there is one. */
export function cutToUnits(text: string, mostUnits: number, note: string): string {
  if (text.length <= mostUnits) return text
  const room = mostUnits - note.length - 1
  if (room <= 0) return ''
  const whole = text.slice(0, isFirstOfPair(text.charCodeAt(room - 1)) ? room - 1 : room)
  const lineEnd = whole.lastIndexOf('\n')
  return `${lineEnd > 0 ? whole.slice(0, lineEnd) : whole}\n${note}`
}

function isFirstOfPair(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

/** A part of what is to be told, made for the room that is left. */
export type Part = (roomUnits: number) => string | Promise<string>

/** Less than this is not worth a beginning. */
const LEAST_UNITS = 200

/** One after another, for as long as there is room; a part that turns out longer than it was told is left out. */
export async function fitted(parts: readonly Part[], capUnits: number): Promise<string> {
  let whole = ''
  for (const part of parts) {
    const room = capUnits - whole.length - (whole === '' ? 0 : 1)
    if (room < LEAST_UNITS) break
    const said = await part(room)
    if (said === '' || said.length > room) continue
    whole = whole === '' ? said : `${whole}\n${said}`
  }
  return whole
}
