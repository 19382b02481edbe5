/** Reads one transcript to its end and reports over IPC. Run as `tail-measure.js <path>`. */
import { createClock } from '../../daemon/platform/clock.ts'
import { type Cursor, createTail } from '../../daemon/transcripts/tail.ts'
import type { Measured } from './tail-memory.ts'

const [path] = process.argv.slice(2) as [string]
const tail = createTail(createClock())
const peakBytes = () => process.resourceUsage().maxRSS * 1_024
const found: Measured = { lines: [], skipped: [], heldBytes: 0 }
const before = peakBytes()
let cursor: Cursor | undefined
for (let more = true; more; ) {
  const slice = tail.readSlice(path, cursor, { capBytes: 1_000_000 })
  if (!('cursor' in slice)) throw new Error(slice.changed)
  found.lines.push(...slice.lines.map(({ offset, length }) => ({ offset, length })))
  found.skipped.push(...slice.skipped)
  cursor = slice.cursor
  more = slice.more
}
found.heldBytes = peakBytes() - before
process.send?.(found)
