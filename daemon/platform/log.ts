/** The daemon's log: JSON lines in a capped file, readable lines on a terminal, credentials taken out, no message content. */
import { closeSync, mkdirSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import pino from 'pino'
import { formatLogLine, LOG_FILES } from '../../schema/log-line.ts'
import type { Clock } from './clock.ts'
import { message } from './files.ts'

type Say = { (message: string): void; (fields: Record<string, unknown>, message: string): void }

export type Log = ReturnType<typeof createLog>

type LogOptions = { level: string; maxBytes: number }

export type LogTarget = {
  file: string
  terminal?: { write(text: string): unknown; colour: 'on' | 'off' } | undefined
  clock: Clock
  onTrouble: (problem: string) => void
}

/** Fields that could carry a credential or a person's words, wherever a caller hangs them. */
const SILENT_KEYS = new Set(
  'authorization apiKey token password secret content text prompt query body messages'.split(' '),
)
const DEEPEST = 8

/** A dump that is logged by mistake must not push everything else out of the file. */
const LONGEST_LINE = 32_000

export function createLog(options: LogOptions, { file, terminal, clock, onTrouble }: LogTarget) {
  const onDisk = openLogFile(file, options.maxBytes, onTrouble)
  const write = (json: string) => {
    const line = redactLine(json.length <= LONGEST_LINE ? json : `${json.slice(0, LONGEST_LINE)} …\n`)
    onDisk.write(line)
    terminal?.write(`${formatLogLine(line.trimEnd(), { colour: terminal.colour })}\n`)
  }
  const logger = pino(
    {
      level: options.level,
      base: { pid: process.pid },
      timestamp: () => `,"time":${clock.now()}`,
      formatters: { log: (fields) => silenced(fields, 0) as Record<string, unknown> },
    },
    { write },
  )
  // pino swaps its methods when the level changes, so they are looked up with each call.
  const say =
    (level: 'debug' | 'info' | 'warn' | 'error'): Say =>
    (...given: [string] | [Record<string, unknown>, string]) =>
      given.length === 1 ? logger[level](given[0]) : logger[level](given[0], given[1])
  return {
    debug: say('debug'),
    info: say('info'),
    warn: say('warn'),
    error: say('error'),
    configure: ({ level, maxBytes }: LogOptions): void => {
      logger.level = level
      onDisk.setCap(maxBytes)
    },
    close: onDisk.close,
  }
}

function silenced(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Error) return value
  if (depth > DEEPEST) return '[deep]'
  if (Array.isArray(value)) return value.map((item) => silenced(item, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, SILENT_KEYS.has(key) ? '[redacted]' : silenced(item, depth + 1)]),
  )
}

/** The log on disk: a few files that together never exceed a cap. Losing a line is better than stopping the daemon. */
export function openLogFile(path: string, capBytes: number, onTrouble: (problem: string) => void) {
  let cap = capBytes
  let fd: number | undefined
  let size = 0
  let closed = false

  const open = () => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    fd = openSync(path, 'a', 0o600)
    size = statSync(path).size
  }
  const shut = () => {
    if (fd !== undefined) closeSync(fd)
    fd = undefined
  }
  const rotate = () => {
    shut()
    rmSync(`${path}.${LOG_FILES - 1}`, { force: true })
    for (let n = LOG_FILES - 2; n >= 1; n--) moveIfThere(`${path}.${n}`, `${path}.${n + 1}`)
    moveIfThere(path, `${path}.1`)
  }

  return {
    write: (line: string): void => {
      if (closed) return
      const bytes = Buffer.from(line)
      try {
        if (fd === undefined) open()
        if (size > 0 && size + bytes.length > cap / LOG_FILES) {
          rotate()
          open()
        }
        size += writeSync(fd as number, bytes)
      } catch (error) {
        // A full disk or a revoked folder: try to open again with the next line.
        shut()
        onTrouble(message(error))
      }
    },
    setCap: (bytes: number): void => {
      cap = bytes
    },
    close: (): void => {
      closed = true
      shut()
    },
  }
}

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

// Every run is bounded: a line is hostile input too, and an unbounded run over a long one takes minutes.
const shapes: RegExp[] = [
  /\bsk-[A-Za-z0-9_-]{16,300}/g,
  /\b(?:gh[pousr]_[A-Za-z0-9]{20,300}|github_pat_[A-Za-z0-9_]{20,300})/g,
  /\b(?:xox[abprs]-[A-Za-z0-9-]{10,300}|npm_[A-Za-z0-9]{20,300}|AIza[A-Za-z0-9_-]{30,300})/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\beyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{1,2000}/g,
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[A-Za-z0-9+/=\s]|\\[nr])*(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g,
]
const BEARER = /\b(Bearer|Basic)\s{1,9}[A-Za-z0-9._~+/=-]{8,4000}/gi
const URL_PASSWORD = /(\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s:/@"]{0,200}):[^\s@/"]{1,300}@/gi

/** Takes credentials out of a line before it is logged. Errors quote what they choke on, so keys alone are not enough. */
export function redactLine(line: string): string {
  let clean = line
  for (const shape of shapes) clean = clean.replace(shape, '[redacted]')
  return clean.replace(BEARER, '$1 [redacted]').replace(URL_PASSWORD, '$1:[redacted]@')
}
