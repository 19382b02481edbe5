/** Reads one transcript while no file can be opened, and again when one can. Run as `tail-exhausted.js <path>`; reports over IPC. */
import { closeSync, openSync } from 'node:fs'
import { createClock } from '../../daemon/platform/clock.ts'
import { createTail } from '../../daemon/transcripts/tail.ts'

export type Outcome = { lines: string[] } | { changed: string } | { threw: string | undefined }

const [path = ''] = process.argv.slice(2)
const tail = createTail(createClock())
const read = (): Outcome => {
  try {
    const slice = tail.readSlice(path, undefined, { capBytes: 1_000 })
    return 'lines' in slice ? { lines: slice.lines.map(({ text }) => text) } : { changed: slice.changed }
  } catch (error) {
    return { threw: (error as NodeJS.ErrnoException).code }
  }
}
const held: number[] = []
try {
  for (;;) held.push(openSync('/dev/null', 'r'))
} catch {}
const exhausted = read()
held.forEach(closeSync)
process.send?.([exhausted, read()] satisfies Outcome[])
