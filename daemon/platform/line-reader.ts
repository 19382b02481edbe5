/** Bytes in pieces of any size → lines, none of them longer than a cap. Knows nothing of what they say. */

export type Line = { number: number; bytes: Buffer }

const NEWLINE = 0x0a

/** Lines come without their newline; the last one needs none. A line over the cap is told to `tooLong`, which throws. */
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
