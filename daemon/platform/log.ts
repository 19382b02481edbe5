/** The daemon's log: JSON lines in a capped file, readable lines on a terminal, credentials taken out, no message content. */
import pino from 'pino'
import { formatLogLine } from '../../schema/log-line.ts'
import type { Clock } from './clock.ts'
import { openLogFile } from './log-file.ts'
import { redactLine } from './redact.ts'

export type Log = Pick<pino.Logger, 'debug' | 'info' | 'warn' | 'error'> & {
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
const SILENT_KEYS = ['authorization', 'apiKey', 'token', 'password', 'content', 'text', 'prompt', 'body']

export function createLog(options: LogOptions, { file, terminal, clock, onTrouble }: LogTarget): Log {
  const onDisk = openLogFile(file, options.maxBytes, onTrouble)
  const write = (json: string) => {
    const line = redactLine(json)
    onDisk.write(line)
    terminal?.write(`${formatLogLine(line.trimEnd(), { colour: terminal.colour })}\n`)
  }
  const logger = pino(
    {
      level: options.level,
      base: { pid: process.pid },
      timestamp: () => `,"time":${clock.now()}`,
      redact: { paths: SILENT_KEYS.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]), censor: '[redacted]' },
    },
    { write },
  )
  return {
    debug: logger.debug.bind(logger),
    info: logger.info.bind(logger),
    warn: logger.warn.bind(logger),
    error: logger.error.bind(logger),
    configure: ({ level, maxBytes }) => {
      logger.level = level
      onDisk.setCap(maxBytes)
    },
    close: onDisk.close,
  }
}
