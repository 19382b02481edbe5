/** `memoryd logs`: the daemon's own log, whether or not the daemon runs. */
import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { MemoryError } from '../../schema/errors.ts'
import { formatLogLine, LOG_FILES, logLevelOf, logLevels } from '../../schema/log-line.ts'
import type { Context } from './context.ts'

export type LogsOptions = { follow?: boolean; lines: number; level?: keyof typeof logLevels; json?: boolean }

const LOOK_EVERY_MS = 200

export function logs(context: Context, write: (text: string) => void, options: LogsOptions): void {
  const file = context.places.logFile
  if (!existsSync(file))
    throw new MemoryError('NOT_FOUND', `there is no log at ${file} yet`, { hint: `run: ${context.self} start` })
  const least = logLevels[options.level ?? 'debug']
  const show = (lines: string[]) => {
    for (const line of lines)
      if (logLevelOf(line) >= least)
        write(`${options.json ? line : formatLogLine(line, { colour: context.print.colour })}\n`)
  }
  const rotated = (n: number) => `${file}.${n}`
  const old = Array.from({ length: LOG_FILES - 1 }, (_, n) => rotated(LOG_FILES - 1 - n)).filter((path) =>
    existsSync(path),
  )
  const fd = openSync(file, 'r')
  const newest = readFileSync(fd)
  const text = [...old.map((path) => readFileSync(path, 'utf8')), newest.toString()].join('')
  const recent = text.split('\n').filter((line) => line && logLevelOf(line) >= least)
  show(recent.slice(-options.lines))
  if (options.follow) follow({ file, fd, from: newest.length, rotated, show })
  else closeSync(fd)
}

type Following = {
  file: string
  fd: number
  from: number
  rotated: (n: number) => string
  show: (lines: string[]) => void
}

/** Holds the file open, so that what was written to it before it was rotated away is shown as well. */
function follow({ file, fd, from, rotated, show }: Following): void {
  let open = { fd, offset: from }
  let torn = ''
  const drain = () => {
    const { size } = fstatSync(open.fd)
    const lines = (torn + readRange(open.fd, open.offset, size)).split('\n')
    torn = lines.pop() ?? ''
    open.offset = Math.max(size, open.offset)
    show(lines)
  }
  const names = Array.from({ length: LOG_FILES - 1 }, (_, n) => rotated(n + 1))
  /** One file further, if the one that is open has been rotated away; they may have been rotated more than once. */
  const step = (): 'stayed' | 'moved' => {
    const own = fstatSync(open.fd).ino
    if (inodeOf(file) === own) return 'stayed'
    // What was written to it after the last look, before it was rotated away.
    drain()
    const place = names.findIndex((path) => inodeOf(path) === own)
    const next = place > 0 ? names[place - 1] : place === 0 ? file : (names.findLast(existsSync) ?? file)
    const fd = openIfThere(next ?? file)
    if (fd === undefined) return 'stayed'
    // Rotated once more while we looked: the names stand for other files by now, and the next look finds out.
    if (place >= 0 && inodeOf(names[place] ?? '') !== own) {
      closeSync(fd)
      return 'stayed'
    }
    closeSync(open.fd)
    open = { fd, offset: 0 }
    drain()
    return 'moved'
  }
  setInterval(() => {
    drain()
    while (step() === 'moved');
  }, LOOK_EVERY_MS)
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch {
    return undefined
  }
}

function readRange(fd: number, from: number, to: number): string {
  if (to <= from) return ''
  const bytes = Buffer.alloc(to - from)
  return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, from))
}
