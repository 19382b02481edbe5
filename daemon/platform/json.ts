/** JSON and JSON lines from outside: how deep and large a text is, before it is parsed. */

export type Shape = { depth: number; values: number }

const QUOTE = 0x22
const BACKSLASH = 0x5c
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT, COMMA] = [0x5b, 0x5d, 0x7b, 0x7d, 0x2c]

/** A few bytes of JSON can take a lot of memory once parsed. Counts brackets and commas outside strings. */
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

function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes += 1
    if (slashes % 2 === 0) return end
  }
  return text.length
}

/** To walk a deeper value by recursion, as JSON.stringify does, would run out of stack. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    const held = level.filter((each) => typeof each === 'object' && each !== null)
    if (held.length > 0 && depth >= levels) return true
    level = held.flatMap((each) => Object.values(each as object))
  }
  return false
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export type Line = { number: number; bytes: Buffer }

const NEWLINE = 0x0a

/** Bytes in pieces of any size → lines without their newline; the last one needs none. `tooLong` throws for one over the cap. */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  capBytes: number,
  tooLong: (number: number) => never,
): AsyncGenerator<Line> {
  let pending: Buffer[] = []
  let pendingBytes = 0
  let number = 1
  const keep = (piece: Buffer) => {
    pendingBytes += piece.length
    if (pendingBytes > capBytes) tooLong(number)
    pending.push(piece)
  }
  const take = (): Line => {
    const bytes = pending.length === 1 ? (pending[0] as Buffer) : Buffer.concat(pending)
    pending = []
    pendingBytes = 0
    return { number: number++, bytes }
  }
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    let from = 0
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, from)) {
      keep(bytes.subarray(from, end))
      from = end + 1
      yield take()
    }
    if (from < bytes.length) keep(bytes.subarray(from))
  }
  if (pendingBytes > 0) yield take()
}
