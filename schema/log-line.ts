/** One log record as a line for people, in `memoryd serve` and `memoryd logs`. */
export const logLevels = { debug: 20, info: 30, warn: 40, error: 50 } as const
const names = new Map<number, string>(Object.entries(logLevels).map(([name, number]) => [number, name]))
const paint: Record<string, (text: string) => string> = {
  warn: (text) => `\u001b[33m${text}\u001b[39m`,
  error: (text) => `\u001b[31m${text}\u001b[39m`,
}

export function formatLogLine(line: string, { colour }: { colour: 'on' | 'off' }): string {
  const record = parse(line)
  if (!record) return line
  const { level, time, msg, pid: _pid, err, ...rest } = record
  const name = names.get(Number(level)) ?? String(level)
  const when = typeof time === 'number' && Math.abs(time) < 8.64e15 ? new Date(time).toISOString() : String(time)
  const fields = Object.entries(rest).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const text = [when, name.padEnd(5), String(msg ?? ''), ...fields].join(' ')
  const shown = colour === 'on' ? (paint[name]?.(text) ?? text) : text
  const stack = isRecord(err) && (err.stack ?? err.message)
  return stack ? `${shown}\n    ${String(stack).replaceAll('\n', '\n    ')}` : shown
}

export const LOG_FILES = 4

export function logLevelOf(line: string): number {
  return Number(parse(line)?.level ?? 30)
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isRecord(value) && 'level' in value ? value : undefined
  } catch {
    return undefined
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
