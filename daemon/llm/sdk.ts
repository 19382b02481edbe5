/**
 * The model's own package, loaded when it is first needed: a daemon that is offline, or that has nothing to ask, never
 * pays for it. By `require`, since the bundle of the daemon is a script that cannot import.
 */
import { createRequire } from 'node:module'
import type Anthropic from '@anthropic-ai/sdk'
import type { APIError } from '@anthropic-ai/sdk'
import type { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema'
import type { Stream } from '@anthropic-ai/sdk/streaming'

export type Sdk = {
  Anthropic: typeof Anthropic
  APIError: typeof APIError
  rawEvents: typeof Stream.rawEvents
  /** Leaves of a JSON schema what the API understands. */
  supportedSchema: typeof transformJSONSchema
}

export function loadSdk(): Sdk {
  const load = createRequire(import.meta.url)
  const { Anthropic, APIError } = load('@anthropic-ai/sdk')
  const { Stream } = load('@anthropic-ai/sdk/streaming')
  const { transformJSONSchema } = load('@anthropic-ai/sdk/lib/transform-json-schema')
  return { Anthropic, APIError, rawEvents: Stream.rawEvents, supportedSchema: transformJSONSchema }
}
