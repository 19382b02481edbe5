/** Input against its schema, with complaints a caller can act on. */
import type { z } from 'zod'
import { MemoryError } from '../../schema/errors.ts'

export function parseInput(schema: z.ZodType | undefined, value: unknown, place: 'path' | 'query' | 'body'): unknown {
  const given = value === undefined ? {} : value
  if (!schema) return refuseAny(given, place)
  const result = schema.safeParse(given)
  if (result.success) return result.data
  const complaints = result.error.issues.slice(0, 5).map((issue) => {
    const where = [place, ...issue.path.map(String)].join('.')
    return `${where}: ${issue.message}`
  })
  throw new MemoryError('BAD_REQUEST', complaints.join('; '))
}

/** A parameter nobody reads is a mistake the caller would like to know about. */
function refuseAny(value: unknown, place: string): Record<string, never> {
  const keys = typeof value === 'object' && value !== null ? Object.keys(value) : []
  if (keys.length > 0 || typeof value !== 'object')
    throw new MemoryError('BAD_REQUEST', `${place}: this route takes none${keys[0] ? `, got ${keys[0]}` : ''}`)
  return {}
}
