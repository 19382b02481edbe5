/**
 * Leaves of a JSON schema what the API understands. The package that knows is loaded with the first schema: most that is
 * asked needs none. By `require`, since the bundle of the daemon is a script that cannot import.
 */
import { createRequire } from 'node:module'
import type { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema'

type Json = Record<string, unknown>

export function supportedSchema(schema: Json): Json {
  const load = createRequire(import.meta.url)
  const known = load('@anthropic-ai/sdk/lib/transform-json-schema') as {
    transformJSONSchema: typeof transformJSONSchema
  }
  return known.transformJSONSchema(schema as never) as never
}
