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
  const move = (path: string) => {
    closeSync(open.fd)
    open = { fd: openSync(path, 'r'), offset: 0 }
    drain()
  }
  setInterval(() => {
    drain()
    const { ino } = fstatSync(open.fd)
    if (statSync(file, { throwIfNoEntry: false })?.ino === ino) return
    // It may have been rotated more than once since we looked: those in between are older than the newest.
    const names = Array.from({ length: LOG_FILES - 1 }, (_, n) => rotated(n + 1))
    const place = names.findIndex((path) => statSync(path, { throwIfNoEntry: false })?.ino === ino)
    for (const path of names.slice(0, Math.max(place, 0)).reverse()) move(path)
    if (existsSync(file)) move(file)
  }, LOOK_EVERY_MS)
}

function readRange(fd: number, from: number, to: number): string {
  if (to <= from) return ''
  const bytes = Buffer.alloc(to - from)
  return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, from))
}
