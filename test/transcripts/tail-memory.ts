/** Reads a transcript in a process of its own, and tells what was found and how much memory that took. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, writeSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Skipped } from '../../daemon/transcripts/tail.ts'

export type Found = { lines: { offset: number; length: number }[]; skipped: Skipped[] }
export type Measured = Found & { heldBytes: number }

const measureMain = fileURLToPath(new URL('./tail-measure.ts', import.meta.url))

export async function readApart(path: string): Promise<Measured> {
  const child = spawn(process.execPath, [measureMain, path], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const [measured] = (await once(child, 'message')) as [Measured]
  return measured
}

/** A short line, a long one and a short one; what reading that should find. */
export function writeWithLongLine(path: string, lengthBytes: number): Found {
  const fd = openSync(path, 'w')
  writeSync(fd, 'one\n')
  const piece = Buffer.alloc(1_000_000, 'x')
  for (let left = lengthBytes; left > 0; left -= piece.length) writeSync(fd, piece, 0, Math.min(left, piece.length))
  writeSync(fd, '\ntwo\n')
  closeSync(fd)
  return {
    lines: [
      { offset: 0, length: 3 },
      { offset: lengthBytes + 5, length: 3 },
    ],
    skipped: [{ offset: 4, length: lengthBytes, reason: 'too-long' }],
  }
}
