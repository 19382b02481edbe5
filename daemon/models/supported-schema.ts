/** Leaves of a JSON schema what the API understands. The SDK that knows is loaded with the first schema: most requests have none. */

type Json = Record<string, unknown>

export async function supportedSchema(schema: Json): Promise<Json> {
  const { transformJSONSchema } = await import('@anthropic-ai/sdk/lib/transform-json-schema')
  return transformJSONSchema(schema as never) as never
}
