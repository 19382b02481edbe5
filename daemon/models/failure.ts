/** Every way in which a call can fail, from what the SDK throws or the stream tells to one value. Pure. */
import type { APIError } from '@anthropic-ai/sdk'
import type { ModelFailure } from './provider.ts'

type Kind = ModelFailure['failed']

const LONGEST_RETRY_AFTER_MS = 86_400_000
const permanent: readonly Kind[] = ['auth', 'bad-request', 'refused']

export function failure(failed: Kind, message: string, more: Partial<ModelFailure> = {}): ModelFailure {
  return { failed, message, permanent: permanent.includes(failed), ...more }
}

/** An answer with an error status: nothing was said, so nothing is charged. */
export function statusFailure(error: APIError, nowMs: number): ModelFailure {
  const status = error.status as number
  const failed = kindOfStatus(status)
  const retryAfterMs = retryAfter(error.headers ?? new Headers(), nowMs)
  return failure(failed, `${status} ${error.apiMessage ?? 'without a message'}`.slice(0, 500), {
    spent: 'nothing',
    status,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(error.requestID && { requestId: error.requestID }),
  })
}

/** An error in the middle of a stream: what was said by then may be charged. */
export function kindOfErrorType(type: string): Kind {
  const kinds: Record<string, Kind> = {
    overloaded_error: 'overloaded',
    rate_limit_error: 'rate-limit',
    authentication_error: 'auth',
    permission_error: 'auth',
    billing_error: 'auth',
    invalid_request_error: 'bad-request',
  }
  return Object.hasOwn(kinds, type) ? (kinds[type] as Kind) : 'server'
}

function kindOfStatus(status: number): Kind {
  if (status === 429) return 'rate-limit'
  if (status === 529) return 'overloaded'
  // Whoever is asked to pay first will not answer before somebody has.
  if (status === 401 || status === 402 || status === 403) return 'auth'
  // A conflict or a request that took too long to arrive may go better next time.
  if (status >= 500 || status === 408 || status === 409) return 'server'
  return 'bad-request'
}

/** Nothing was heard at all. What never left this machine cost nothing; what was sent may have been worked on. */
export function networkFailure(error: unknown): ModelFailure {
  const codes = causesOf(error).flatMap(({ code }) => (typeof code === 'string' ? [code] : []))
  const unsent = codes.some((code) =>
    /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ERR_INVALID_URL)$/.test(code),
  )
  const words = causesOf(error).at(-1)?.message ?? String(error)
  return failure('network', `no answer: ${words}`.slice(0, 500), unsent ? { spent: 'nothing' } : {})
}

/** The error itself, what it was caused by, and so on: the innermost says what happened. */
function causesOf(error: unknown): { message?: string; code?: unknown }[] {
  const causes: { message?: string; code?: unknown }[] = []
  let next = error as { message?: string; code?: unknown; cause?: unknown; errors?: unknown[] } | undefined
  while (next && causes.length < 5) {
    causes.push(next)
    next = (next.cause ?? next.errors?.[0]) as typeof next
  }
  return causes
}

function retryAfter(headers: Headers, nowMs: number): number | undefined {
  const inMs = Number.parseFloat(headers.get('retry-after-ms') ?? '')
  const text = headers.get('retry-after') ?? ''
  const inSeconds = /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs
  const ms = Number.isFinite(inMs) ? inMs : inSeconds
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), LONGEST_RETRY_AFTER_MS) : undefined
}
