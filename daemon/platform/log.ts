/** The daemon's log: JSON lines in a capped file, readable lines on a terminal, credentials taken out, no message content. */
import pino from 'pino'
import { formatLogLine } from '../../schema/log-line.ts'
import type { Clock } from './clock.ts'
import { openLogFile } from './log-file.ts'
import { redactLine } from './redact.ts'

type Say = { (message: string): void; (fields: Record<string, unknown>, message: string): void }

export type Log = {
  debug: Say
  info: Say
  warn: Say
  error: Say
  configure(options: LogOptions): void
  close(): void
}

export type LogOptions = { level: string; maxBytes: number }

export type LogTarget = {
  file: string
  /** A person is watching: the same lines, readable. */
  terminal?: { write(text: string): unknown; colour: 'on' | 'off' } | undefined
  clock: Clock
  onTrouble: (problem: string) => void
}

/** Fields that could carry a credential or a person's words, wherever a caller hangs them. */
const SILENT_KEYS = new Set(
  'authorization apiKey token password secret content text prompt query body messages'.split(' '),
)
const DEEPEST = 8

/** A dump that somebody logs by mistake must not push everything else out of the file. */
const LONGEST_LINE = 32_000

export function createLog(options: LogOptions, { file, terminal, clock, onTrouble }: LogTarget): Log {
  const onDisk = openLogFile(file, options.maxBytes, onTrouble)
  const write = (json: string) => {
    const line = redactLine(shorten(json))
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
    configure: ({ level, maxBytes }) => {
      logger.level = level
      onDisk.setCap(maxBytes)
    },
    close: onDisk.close,
  }
}

function shorten(line: string): string {
  return line.length <= LONGEST_LINE ? line : `${line.slice(0, LONGEST_LINE)} …\n`
}

/** At any depth; what lies too deep to look at is left out. Errors keep their own form and go through the patterns. */
function silenced(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Error) return value
  if (depth > DEEPEST) return '[deep]'
  if (Array.isArray(value)) return value.map((item) => silenced(item, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, SILENT_KEYS.has(key) ? '[redacted]' : silenced(item, depth + 1)]),
  )
}
