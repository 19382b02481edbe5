/** The daily logs of a memory directory: which file is a day's, and how something is added to it. Pure. */
import type { MemoryType } from '../../schema/memory.ts'
import { oneLine } from './one-line.ts'

const LOG = /^logs\/(\d{4})\/(\d{2})\/\1-\2-\d{2}\.md$/

export function isLog(file: string): boolean {
  return LOG.test(file)
}

/** `day`: as the clock on the wall has it, such as 2026-03-31. */
export function logFile(day: string): string {
  const [year, month] = day.split('-')
  return `logs/${year}/${month}/${day}.md`
}

export function logLine({ type, body }: { type: MemoryType; body: string }): string {
  return `- [${type}] ${oneLine(body)}`
}

/** Whatever it holds stays as it is, a line that nobody ended too. */
export function appended(log: string, lines: readonly string[]): string {
  const start = log === '' || log.endsWith('\n') ? log : `${log}\n`
  return `${start}${lines.map((line) => `${line}\n`).join('')}`
}
