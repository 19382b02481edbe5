/** Lines for tests of the tailer: what they say is told by their id, and what a file should give is told without the tailer. */
import type { Line } from '../../daemon/transcripts/tail.ts'

/** Any part of a line differs from the same part of every other line, as it does in a transcript. */
export function lineOf(id: string, sizeBytes: number): string {
  return `{"id":"${id}","text":"${`${id} é日 `.repeat(Math.ceil(sizeBytes / (id.length + 7)))}","end":"${id}"}`
}

/** Nothing for a line that was put together from two, or torn. */
export function idOf(text: string): string | undefined {
  return /^\{"id":"([^"]+)","text":"[^"]*","end":"\1"\}$/.exec(text)?.[1]
}

/** The slow and plain way: every whole line of a file that is text. */
export function linesOf(content: Buffer): Line[] {
  const lines: Line[] = []
  for (let offset = 0, end = content.indexOf(10); end !== -1; offset = end + 1, end = content.indexOf(10, offset)) {
    const bytes = content.subarray(offset, content[end - 1] === 13 && end > offset ? end - 1 : end)
    const text = decode(bytes)
    if (bytes.length > 0 && text !== undefined) lines.push({ offset, length: bytes.length, text })
  }
  return lines
}

function decode(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}
