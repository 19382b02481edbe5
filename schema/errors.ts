/** The one error class, and the closed set of its codes: those that travel over the socket, with the HTTP status of each. */
export const httpStatus = {
  BAD_REQUEST: 400,
  NOT_FOUND: 404,
  CONFLICT: 409,
  LOCK_HELD: 409,
  MEMORY_OFF: 409,
  TOO_LARGE: 413,
  REFUSED: 422,
  PROTOCOL: 426,
  BUDGET: 429,
  INTERNAL: 500,
  DEGRADED: 503,
} as const

/** Codes that never travel. */
export const localCodes = ['SETUP', 'UNREACHABLE'] as const

export type HttpCode = keyof typeof httpStatus
export type ErrorCode = HttpCode | (typeof localCodes)[number]

/** Any route may answer with these; a route lists only what it adds. */
export const universalCodes = ['BAD_REQUEST', 'NOT_FOUND', 'TOO_LARGE', 'PROTOCOL', 'INTERNAL', 'DEGRADED'] as const

export type ErrorBody = {
  error: { code: HttpCode; message: string; hint?: string; reason?: string } & Record<string, unknown>
}

type Details = Partial<Pick<MemoryError, 'hint' | 'reason' | 'details' | 'cause'>>

export class MemoryError extends Error {
  readonly code: ErrorCode
  readonly hint: string | undefined
  readonly reason: string | undefined
  /** What some refusals add, so that the caller need not ask again. */
  readonly details: Record<string, unknown> | undefined

  constructor(code: ErrorCode, message: string, { hint, reason, details, cause }: Details = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'MemoryError'
    this.code = code
    this.hint = hint
    this.reason = reason
    this.details = details
  }
}

export function isHttpCode(code: string): code is HttpCode {
  return Object.hasOwn(httpStatus, code)
}

export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  alreadyRunning: 4,
  setup: 5,
  ctrlC: 130,
} as const

const exitCodesOf: Partial<Record<ErrorCode, number>> = {
  LOCK_HELD: exitCodes.alreadyRunning,
  SETUP: exitCodes.setup,
  UNREACHABLE: exitCodes.unreachable,
  BAD_REQUEST: exitCodes.usage,
}

export function exitCodeFor(error: unknown): number {
  return (error instanceof MemoryError && exitCodesOf[error.code]) || exitCodes.failed
}

export function explainError(error: unknown): string {
  if (error instanceof MemoryError) return error.hint ? `${error.message}\n${error.hint}` : error.message
  if (!(error instanceof Error)) return String(error)
  const fromBelow = /^(E[A-Z]+|SQLITE_\w+)$/.test(String((error as { code?: unknown }).code))
  return fromBelow ? `${error.message}\nrun: memoryd doctor` : (error.stack ?? error.message)
}
