/** Daily logs of a memory directory: `logs/YYYY/MM/YYYY-MM-DD.md`, one a day, which a dream distils. Only reads, follows no link. */
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'

/** `text`: its beginning, where it is longer than anybody would read. */
export type DailyLog = { file: string; bytes: number; text: string }

export const LOG_PATTERN = 'logs/YYYY/MM/YYYY-MM-DD.md'

const MOST_LOGS = 60
const TEXT_BYTES = 1_000_000
const DAY_MS = 86_400_000

/** Of the day of that moment and later, newest first. A day is one of the place where they are written. */
export function dailyLogs(dir: string, sinceMs: number | undefined): DailyLog[] {
  // A day early: whoever writes them may live elsewhere.
  const since = sinceMs === undefined ? '' : new Date(sinceMs - DAY_MS).toISOString().slice(0, 10)
  const names = (folder: string, pattern: RegExp) =>
    list(join(dir, folder))
      .filter((name) => pattern.test(name))
      .sort()
      .reverse()
  const files: string[] = []
  for (const year of names('logs', /^\d{4}$/))
    for (const month of names(`logs/${year}`, /^\d{2}$/))
      for (const name of names(`logs/${year}/${month}`, /^\d{4}-\d{2}-\d{2}\.md$/))
        if (name.slice(0, 10) >= since && name.startsWith(`${year}-${month}`) && files.length < MOST_LOGS)
          files.push(`logs/${year}/${month}/${name}`)
  return files.flatMap((file) => {
    const found = readPlain(join(dir, file))
    return found === undefined ? [] : [{ file, ...found }]
  })
}

function list(folder: string): string[] {
  try {
    return lstatSync(folder).isDirectory() ? readdirSync(folder) : []
  } catch {
    return []
  }
}

function readPlain(path: string): { bytes: number; text: string } | undefined {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stats = fstatSync(fd)
      if (!stats.isFile()) return undefined
      const text = Buffer.alloc(Math.min(stats.size, TEXT_BYTES))
      return { bytes: stats.size, text: text.subarray(0, readSync(fd, text, 0, text.length, 0)).toString() }
    } finally {
      closeSync(fd)
    }
  } catch {
    return undefined
  }
}
