/**
 * What a harness hands over with a turn so that a fork can go on from its own request: kept in memory for as long as a
 * server's cache may hold it, never written anywhere. Used only against the endpoint and with the key of the harness.
 */
import type { Clock } from '../platform/clock.ts'
import { isDeeperThan } from '../platform/value-depth.ts'

export type Handover = {
  params: Readonly<Record<string, unknown>>
  endpoint: string
  /** The first 16 hex digits of the SHA-256 of its key. */
  fingerprint: string
}

/** Where this daemon itself would ask, and whether it may go on from what harnesses hand over. */
export type Own = { prefix: 'rendered' | 'harness'; endpoint: string; fingerprint: string | undefined }

/** The last words of each. */
export type Last = { agent: string | undefined; person: string | undefined }

export type Handovers = {
  keep(session: string, handover: Handover): { kept: true } | { skip: string }
  /** `last`: what was said last in the part that is told; a conversation that ends otherwise is about another one. */
  find(session: string, own: Own, last: Last): { params: Handover['params'] } | { skip: string }
  drop(session: string): void
}

const KEEP_MS = 3_600_000
const CAP_SESSIONS = 16
const CAP_CHARS = 8_000_000
const CAP_LEVELS = 200

export function createHandovers({ clock }: { clock: Pick<Clock, 'elapsed'> }): Handovers {
  const kept = new Map<string, Handover & { atMs: number; chars: number }>()
  const drop = () => {
    for (const [session, { atMs }] of kept) if (clock.elapsed() - atMs > KEEP_MS) kept.delete(session)
    const total = () => [...kept.values()].reduce((sum, { chars }) => sum + chars, 0)
    // The oldest goes first.
    while (kept.size > CAP_SESSIONS || total() > CAP_CHARS) kept.delete(kept.keys().next().value as string)
  }
  return {
    keep: (session, handover) => {
      kept.delete(session)
      const skip = unusable(handover.params)
      if (skip) return { skip }
      kept.set(session, { ...handover, atMs: clock.elapsed(), chars: JSON.stringify(handover.params).length })
      drop()
      return kept.has(session) ? { kept: true } : { skip: 'it is too large to be kept' }
    },
    drop: (session) => void kept.delete(session),
    find: (session, own, last) => {
      drop()
      if (own.prefix !== 'harness') return { skip: 'extraction.prefix is not harness' }
      const found = kept.get(session)
      if (!found) return { skip: 'the harness handed nothing over' }
      if (sameEndpoint(found.endpoint) !== sameEndpoint(own.endpoint))
        return { skip: 'the harness asks another endpoint' }
      if (own.fingerprint === undefined || found.fingerprint !== own.fingerprint)
        return { skip: 'the harness uses another key' }
      if (!endsWith(found.params, last)) return { skip: 'the conversation has gone on since' }
      return { params: found.params }
    },
  }
}

/** A conversation to which no task can be added is none to go on from. */
function unusable(params: Handover['params']): string | undefined {
  const { model, messages } = params
  if (isDeeperThan(params, CAP_LEVELS)) return 'it is nested too deeply'
  if (typeof model !== 'string' || model === '') return 'it names no model'
  if (!Array.isArray(messages) || messages.length === 0) return 'it holds no messages'
  if (!messages.every(isMessage)) return 'it holds what is no message'
  const last: unknown = messages.at(-1)
  const { role, content } = (last ?? {}) as { role?: unknown; content?: unknown }
  if (role !== 'assistant' && role !== 'user') return 'its last message is nobody’s'
  const asks = (block: unknown) => (block as { type?: unknown } | null)?.type === 'tool_use'
  if (role === 'assistant' && Array.isArray(content) && content.some(asks)) return 'a tool call in it has no result yet'
  return serverSide(params)
}

/** What the server itself runs asks nobody for permission, so no fork may have it. */
function serverSide({ tools, mcp_servers: servers, container }: Handover['params']): string | undefined {
  if (servers !== undefined && !(Array.isArray(servers) && servers.length === 0)) return 'it has MCP servers'
  if (container !== undefined && container !== null) return 'it has a container'
  if (tools === undefined) return undefined
  if (!Array.isArray(tools)) return 'its tools are no list'
  if (!tools.every(isNamed)) return 'one of its tools has no name'
  const typeOf = (tool: unknown) => (tool as { type?: unknown } | null)?.type
  const others = tools.find((tool) => typeOf(tool) !== undefined && typeOf(tool) !== null && typeOf(tool) !== 'custom')
  return others === undefined ? undefined : 'it has tools that the server runs itself'
}

function isMessage(message: unknown): boolean {
  const { role, content } = (message ?? {}) as { role?: unknown; content?: unknown }
  if (role !== 'user' && role !== 'assistant') return false
  return typeof content === 'string' || (Array.isArray(content) && content.every(isObject))
}

function isNamed(tool: unknown): boolean {
  return isObject(tool) && typeof (tool as { name?: unknown }).name === 'string'
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function endsWith({ messages }: Handover['params'], { agent, person }: Last): boolean {
  const { role, content } =
    (messages as { role: string; content: string | { type?: unknown; text?: unknown }[] }[]).at(-1) ?? {}
  const texts = Array.isArray(content)
    ? content.map(({ text }) => (typeof text === 'string' ? text : ''))
    : [content ?? '']
  const said = role === 'assistant' ? agent : person
  return said !== undefined && bare(texts.join('\n')) === bare(said)
}

function bare(text: string): string {
  return text.normalize('NFKC').replace(/\s+/g, ' ').trim()
}

function sameEndpoint(url: string): string {
  return URL.canParse(url) ? new URL(url).href.replace(/\/+$/, '') : url
}
