/** An error of a request → the one form in which callers get it; and the protocol version, said with every answer. Pure. */
import {
  type ErrorBody,
  type HttpCode,
  httpStatus,
  isHttpCode,
  MemoryError,
  universalCodes,
} from '../../schema/errors.ts'
import { PROTOCOL, PROTOCOL_HEADER } from '../../schema/rendezvous.ts'
import { JSON_LINES } from '../../schema/route-table.ts'
import { isDiskError } from '../platform/disk.ts'

export type Failure = { status: number; body: ErrorBody; unexpected: boolean }

/** What is known of a request besides what went wrong: what its route declares and takes, and where the log has it. */
export type Circumstances = { declared: readonly HttpCode[]; takes: 'JSON' | 'JSON lines'; ref: string }

export function toFailure(error: unknown, { declared, takes, ref }: Circumstances): Failure {
  if (error instanceof MemoryError && isHttpCode(error.code)) {
    const allowed: readonly string[] = [...universalCodes, ...declared]
    // A code the route never declared would make the published contract a lie: that is our bug, not an answer.
    if (allowed.includes(error.code)) return failure(error.code, error.message, error)
  }
  if (isDiskError(error))
    return failure('DEGRADED', `cannot write: ${(error as Error).message}`, {
      hint: 'free some space or make the state folder writable; memoryd recovers by itself',
    })
  const refusal = frameworkRefusal(error as FrameworkError, takes)
  if (refusal) return refusal
  return { ...failure('INTERNAL', `memoryd failed; its log has the details under ref ${ref}`), unexpected: true }
}

export function failure(
  code: HttpCode,
  message: string,
  { hint, reason, details }: Pick<Partial<MemoryError>, 'hint' | 'reason' | 'details'> = {},
): Failure {
  const body = { error: { ...details, code, message, ...(hint && { hint }), ...(reason && { reason }) } }
  return { status: httpStatus[code], body, unexpected: false }
}

type FrameworkError = { code?: string; message?: string; statusCode?: number }

/** What fastify turns away before a handler runs. */
function frameworkRefusal(error: FrameworkError, takes: Circumstances['takes']): Failure | undefined {
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return failure('TOO_LARGE', 'the body is larger than this route takes')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return failure('BAD_REQUEST', `the body is not ${takes}`, {
        hint: `send content-type: ${takes === 'JSON' ? 'application/json' : JSON_LINES}`,
      })
  }
  if (error.statusCode !== undefined && error.statusCode < 500)
    return failure('BAD_REQUEST', error.message ?? 'the request cannot be read')
  return undefined
}

export const protocolHeaders = { [PROTOCOL_HEADER]: String(PROTOCOL) }

/** A request that names no version is taken; one that names another is not. */
export function protocolProblem(theirs: unknown): MemoryError | undefined {
  if (theirs === undefined || theirs === String(PROTOCOL)) return undefined
  return new MemoryError('PROTOCOL', `the client speaks protocol ${theirs}, this daemon ${PROTOCOL}`, {
    hint: 'after an upgrade: memoryd restart',
  })
}
