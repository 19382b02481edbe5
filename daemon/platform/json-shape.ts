/** How much a JSON text will take up once it is parsed, told without parsing it: a few bytes can stand for a lot of memory. */

export type Shape = { depth: number; values: number }

const QUOTE = 0x22
const BACKSLASH = 0x5c
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT, COMMA] = [0x5b, 0x5d, 0x7b, 0x7d, 0x2c]

/** Counts brackets and commas outside strings; whether the rest is JSON is the parser's to say. */
export function shapeOf(text: string): Shape {
  let depth = 0
  let deepest = 0
  let values = 1
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === QUOTE) at = endOfString(text, at + 1)
    else if (unit === COMMA) values += 1
    else if (unit === OPEN_LIST || unit === OPEN_OBJECT) {
      values += 1
      depth += 1
      deepest = Math.max(deepest, depth)
    } else if (unit === CLOSE_LIST || unit === CLOSE_OBJECT) depth -= 1
  }
  return { depth: deepest, values }
}

/** Where the quote stands that closes the string, or the end of a text that never closes it. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes += 1
    if (slashes % 2 === 0) return end
  }
  return text.length
}
