/** Who calls: read from the headers once, before a handler runs. */
import type { IncomingHttpHeaders } from 'node:http'
import { ACTOR_HEADER, type Caller, decodeVariables, ENV_HEADER, isActor } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'

const NOBODY: Caller = { actor: 'agent:api', env: {} }

export function callerOf(headers: IncomingHttpHeaders): Caller {
  const actor = headers[ACTOR_HEADER]
  const variables = headers[ENV_HEADER]
  if (actor === undefined && variables === undefined) return NOBODY
  if (actor !== undefined && !(typeof actor === 'string' && isActor(actor)))
    throw new MemoryError('BAD_REQUEST', `${ACTOR_HEADER} is user or agent:<name>`)
  const env = variables === undefined ? {} : decodeVariables(String(variables))
  if (!env) throw new MemoryError('BAD_REQUEST', `${ENV_HEADER} is a JSON object of strings`)
  return { actor: actor ?? NOBODY.actor, env }
}

/** What a person rejected, wants to see first, or answers for with their name is a person's to decide. */
export function onlyPeople({ actor }: Caller): void {
  if (actor !== 'user')
    throw new MemoryError('REFUSED', 'only a person may decide this', {
      reason: 'permission',
      hint: 'use the command line',
    })
}
