/** `memoryd logs`: the daemon's own log, whether or not the daemon runs. */
import { closeSync, existsSync, openSync, readFileSync, readSync, statSync, watchFile } from 'node:fs'
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
  let at = statSync(file)
  const old = Array.from({ length: LOG_FILES - 1 }, (_, n) => `${file}.${LOG_FILES - 1 - n}`).filter((path) =>
    existsSync(path),
  )
  const text = [...old, file].map((path) => readFileSync(path, 'utf8')).join('')
  const recent = text.split('\n').filter((line) => line && logLevelOf(line) >= least)
  show(recent.slice(-options.lines))
  if (!options.follow) return

  let offset = at.size
  let torn = ''
  watchFile(file, { interval: LOOK_EVERY_MS }, (now) => {
    // Rotated under us: a new file begins at its beginning.
    if (now.ino !== at.ino || now.size < offset) offset = 0
    at = now
    if (now.size <= offset) return
    const lines = (torn + readRange(file, offset, now.size)).split('\n')
    torn = lines.pop() ?? ''
    offset = now.size
    show(lines)
  })
}

function readRange(file: string, from: number, to: number): string {
  const fd = openSync(file, 'r')
  try {
    const bytes = Buffer.alloc(to - from)
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, from))
  } finally {
    closeSync(fd)
  }
}
