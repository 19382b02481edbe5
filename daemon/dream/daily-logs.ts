/** Daily logs of a memory directory, `logs/YYYY/MM/YYYY-MM-DD.md`, which a dream distils. Follows no link. */
import { fstatSync, lstatSync, readdirSync, readSync } from 'node:fs'
import { basename, join } from 'node:path'
import { unlessGone, withPlain } from '../transcripts/tail.ts'

export type DailyLog = { file: string; bytes: number; text: string }

/** Logs for one dream. `left`: how many wait for the next one; `to`: the day of the last log, if others wait. */
export type Unread = { logs: DailyLog[]; left: number; to?: string }

export const LOG_PATTERN = 'logs/YYYY/MM/YYYY-MM-DD.md'

const MOST_LOGS = 60
/** In all: a dream with more to read than it can pay for would fail, every night. */
const MOST_BYTES = 120_000
const TEXT_BYTES = 1_000_000
const DAY_MS = 86_400_000

/** Oldest first, as many as one dream can take. Days are local to the place where logs are written. */
export function dailyLogs(dir: string, sinceMs: number | undefined): Unread {
  // A day earlier: logs may have been written in another time zone.
  const since = sinceMs === undefined ? '' : new Date(sinceMs - DAY_MS).toISOString().slice(0, 10)
  const names = (folder: string, pattern: RegExp) =>
    list(join(dir, folder))
      .filter((name) => pattern.test(name))
      .sort()
  const files: string[] = []
  for (const year of names('logs', /^\d{4}$/))
    for (const month of names(`logs/${year}`, /^\d{2}$/))
      for (const name of names(`logs/${year}/${month}`, /^\d{4}-\d{2}-\d{2}\.md$/))
        if (name.slice(0, 10) >= since && name.startsWith(`${year}-${month}`))
          files.push(`logs/${year}/${month}/${name}`)
  return taken(dir, files)
}

/** The first log is always taken, however long it is. */
function taken(dir: string, files: readonly string[]): Unread {
  const logs: DailyLog[] = []
  let bytes = 0
  for (const [n, file] of files.entries()) {
    const found = readPlain(join(dir, file))
    if (!found) continue
    bytes += found.bytes
    const last = logs.at(-1)
    if (last && (logs.length >= MOST_LOGS || bytes > MOST_BYTES))
      return { logs, left: files.length - n, to: basename(last.file, '.md') }
    logs.push({ file, ...found })
  }
  return { logs, left: 0 }
}

function list(folder: string): string[] {
  return unlessGone(folder, () => (lstatSync(folder).isDirectory() ? readdirSync(folder) : [])) ?? []
}

function readPlain(path: string): { bytes: number; text: string } | undefined {
  const read = (fd: number) => {
    const stats = fstatSync(fd)
    if (!stats.isFile()) return undefined
    const text = Buffer.alloc(Math.min(stats.size, TEXT_BYTES))
    return { bytes: stats.size, text: text.subarray(0, readSync(fd, text, 0, text.length, 0)).toString() }
  }
  return unlessGone(path, () => withPlain(path, read))
}
