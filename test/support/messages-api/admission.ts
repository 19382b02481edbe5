/** Whether the Messages API takes a request at all: path, headers, key, form, rules, model, sizes. Pure. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Failed } from './answers.ts'
import { tokensOf } from './prefix-cache.ts'
import { ruleProblem } from './rules.ts'
import { Body, formProblem } from './wire.ts'

export type Model = { window: number; maxOutput: number; minCacheTokens: number }

export const usualModels: Record<string, Model> = {
  'claude-haiku-5-5': { window: 1_000_000, maxOutput: 128_000, minCacheTokens: 1_024 },
  'claude-sonnet-5-5': { window: 1_000_000, maxOutput: 128_000, minCacheTokens: 1_024 },
  'claude-opus-5-5': { window: 1_000_000, maxOutput: 128_000, minCacheTokens: 1_024 },
  'claude-haiku-4-5': { window: 200_000, maxOutput: 64_000, minCacheTokens: 4_096 },
}

export type Arrived = { method: string; url: string; headers: IncomingHttpHeaders; bytes: Buffer }

export type House = { keys: readonly string[]; models: Record<string, Model> }

const VERSIONS = ['2023-06-01', '2026-10-21']
const LARGEST_BYTES = 32 * 1024 * 1024

export type Admitted = { body: Body; owner: string }

export function admit(arrived: Arrived, house: House): Admitted | Failed {
  const { headers, bytes } = arrived
  if (arrived.url.split('?')[0] !== '/v1/messages') return refused(404, 'not_found_error', 'Not found')
  if (arrived.method !== 'POST') return refused(405, 'invalid_request_error', 'Method Not Allowed')
  const key = keyOf(headers)
  if (key === undefined) return refused(401, 'authentication_error', 'x-api-key header is required')
  if (!house.keys.includes(key)) return refused(401, 'authentication_error', 'invalid x-api-key')
  const version = headers['anthropic-version']
  if (version === undefined) return invalid('anthropic-version: header is required')
  if (!VERSIONS.includes(String(version))) return invalid(`anthropic-version: "${version}" is not a valid version`)
  if (!/^application\/json\b/.test(headers['content-type'] ?? ''))
    return invalid('content-type must be application/json')
  if (bytes.length > LARGEST_BYTES) return refused(413, 'request_too_large', 'Request exceeds the maximum size')
  const body = parse(bytes)
  if (body === undefined) return invalid('The request body is not valid JSON')
  const problem = formProblem(body) ?? ruleProblem(Body.parse(body))
  if (problem) return invalid(problem)
  const { model: name, max_tokens } = body as Body
  const model = house.models[name]
  if (!model) return refused(404, 'not_found_error', `model: ${name}`)
  if (max_tokens > model.maxOutput)
    return invalid(`max_tokens: ${max_tokens} > ${model.maxOutput}, which is the maximum for ${name}`)
  const tokens = tokensOf(bytes.toString())
  if (tokens > model.window) return invalid(`prompt is too long: ${tokens} tokens > ${model.window} maximum`)
  return { body: body as Body, owner: key }
}

/** Newer clients send a key the way they send a token. */
function keyOf(headers: IncomingHttpHeaders): string | undefined {
  const direct = headers['x-api-key']
  return typeof direct === 'string' ? direct : /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1]
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

function invalid(message: string): Failed {
  return refused(400, 'invalid_request_error', message)
}

function refused(status: number, type: string, message: string): Failed {
  return { status, type, message }
}
