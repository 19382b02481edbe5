/** Transcripts with lines that are far too long, and how much memory they took. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'

/** `piece` is repeated. */
export type Long = { before: string; piece: string; after: string; megabytes: number }

export const WORDS = { before: '{"type":"user","text":"', piece: 'some words ', after: '"}' }

export function appendLong(path: string, { before, piece, after, megabytes }: Long): void {
  const fd = openSync(path, 'a')
  writeSync(fd, before)
  const block = Buffer.from(piece.repeat(Math.floor(1_000_000 / Buffer.byteLength(piece))))
  for (let n = 0; n < megabytes; n++) writeSync(fd, block)
  writeSync(fd, `${after}\n`)
  closeSync(fd)
}

/** The most memory the process ever had. */
export function peakMb(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Math.round((Number(kilobytes) * 1_024) / 1_000_000)
}
