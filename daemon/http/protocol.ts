/** The version that client and daemon have to share: said with every answer, and checked with every request that says one. */
import type { FastifyRequest } from 'fastify'
import { MemoryError } from '../../schema/errors.ts'
import { PROTOCOL, PROTOCOL_HEADER } from '../../schema/rendezvous.ts'

export const protocolHeaders = { [PROTOCOL_HEADER]: String(PROTOCOL) }

export function protocolProblem(request: FastifyRequest): MemoryError | undefined {
  const theirs = request.headers[PROTOCOL_HEADER]
  if (theirs === undefined || theirs === String(PROTOCOL)) return undefined
  return new MemoryError('PROTOCOL', `the client speaks protocol ${theirs}, this daemon ${PROTOCOL}`, {
    hint: 'after an upgrade: memoryd restart',
  })
}
