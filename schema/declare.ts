/** `node schema/declare.ts <folder>`: writes the type `Contract` in plain TypeScript, for harnesses that have no zod. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Route } from './contract.ts'
import { routes } from './routes.ts'

type Json = {
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Json[]
  oneOf?: Json[]
  items?: Json
  properties?: Record<string, Json>
  required?: string[]
  additionalProperties?: boolean | Json
}

function printed(schema: z.ZodType, io: 'input' | 'output'): string {
  return print(z.toJSONSchema(schema, { io }) as Json)
}

function print(schema: Json): string {
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  const union = schema.anyOf ?? schema.oneOf
  if (union) return union.map(print).join(' | ')
  if (schema.type === 'array') return `Array<${print(schema.items ?? {})}>`
  if (schema.type === 'object') return printObject(schema)
  if (schema.type === 'integer' || schema.type === 'number') return 'number'
  if (Array.isArray(schema.type)) return schema.type.map((type) => print({ ...schema, type })).join(' | ')
  if (schema.type === 'string' || schema.type === 'boolean' || schema.type === 'null') return schema.type
  if (Object.keys(schema).every((key) => key === 'description')) return 'unknown'
  // Better no package than one whose types quietly say nothing.
  throw new Error(`cannot write this schema as a type: ${JSON.stringify(schema)}`)
}

function printObject({ properties = {}, required = [], additionalProperties }: Json): string {
  const fields = Object.entries(properties).map(([key, value]) => {
    const optional = required.includes(key) ? '' : ' | undefined'
    return `${JSON.stringify(key)}${optional && '?'}: ${print(value)}${optional}`
  })
  if (additionalProperties && additionalProperties !== true)
    fields.push(`[key: string]: ${print(additionalProperties)}`)
  else if (additionalProperties !== false && Object.keys(properties).length === 0) fields.push('[key: string]: unknown')
  return `{ ${fields.join('; ')} }`
}

const folder = process.argv[2]
if (!folder) throw new Error('usage: node schema/declare.ts <folder>')
const entries = Object.entries(routes as Record<string, Route>).map(([name, route]) => {
  const input = [route.params, route.query, route.body].flatMap((part) => (part ? [printed(part, 'input')] : []))
  if (route.upload) input.push('{ lines: AsyncIterable<Uint8Array> }')
  return `  ${name}: { input: ${input.join(' & ') || 'Record<never, never>'}; answer: ${printed(route.answer, 'output')} }`
})
const text = `/** Made from the validators; do not edit. */\nexport type Contract = {\n${entries.join('\n')}\n}\n`
writeFileSync(join(folder, 'contract.d.ts'), text)
