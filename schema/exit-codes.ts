/** What the processes of memoryd say to the shell that ran them. */
import { MemoryError } from './errors.ts'

export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  alreadyRunning: 4,
  setup: 5,
} as const

export function exitCodeFor(error: unknown): number {
  if (!(error instanceof MemoryError)) return exitCodes.failed
  if (error.code === 'LOCK_HELD') return exitCodes.alreadyRunning
  if (error.code === 'SETUP') return exitCodes.setup
  if (error.code === 'UNREACHABLE') return exitCodes.unreachable
  if (error.code === 'BAD_REQUEST') return exitCodes.usage
  return exitCodes.failed
}

/** The thing, then the remedy; a stack only for what nobody foresaw. */
export function explainError(error: unknown): string {
  if (error instanceof MemoryError) return error.hint ? `${error.message}\n${error.hint}` : error.message
  if (!(error instanceof Error)) return String(error)
  // The disk and the system explain themselves.
  const fromBelow = /^(E[A-Z]+|SQLITE_\w+)$/.test(String((error as { code?: unknown }).code))
  return fromBelow ? `${error.message}\nrun: memoryd doctor` : (error.stack ?? error.message)
}
