/**
 * The prompt cache of the scripted server: tools, system and messages in that order, kept at marks, found again by an
 * equal beginning, gone after their time by the server's own clock. Marks are no part of what is compared.
 */
import { createHash } from 'node:crypto'
import { type Block, type Body, blocksOf } from './wire.ts'

export type CacheUsage = { input: number; read: number; written5m: number; written1h: number }

/** A piece of the prompt: its tokens, whether a mark ends here, and the hash of everything up to here. */
type Piece = { tokens: number; mark: '5m' | '1h' | undefined; upTo: string }

export type PrefixCache = {
  /** What a request costs; `keep` writes it to the cache, which the API does once the answer begins. */
  look(owner: string, body: Body): { usage: CacheUsage; keep(): void }
}

/** How many pieces before a mark are tried: an entry further back is not found. */
const LOOK_BACK = 20
const TTL_MS = { '5m': 5 * 60_000, '1h': 60 * 60_000 }

/** As coarse as the estimate that clients make, so that numbers can be followed by hand. */
export function tokensOf(value: unknown): number {
  return Math.ceil(Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value)) / 4)
}

export function createPrefixCache(deps: { now: () => number; minTokens: (model: string) => number }): PrefixCache {
  const entries = new Map<string, { until: number; ttl: '5m' | '1h' }>()
  return {
    look: (owner, body) => {
      const now = deps.now()
      const pieces = piecesOf(owner, body)
      const sums = runningSums(pieces)
      const marks = pieces.flatMap((piece, at) => (piece.mark ? [at] : []))
      const alive = (at: number) => (entries.get(pieces[at]?.upTo as string)?.until ?? 0) > now
      const hit = Math.max(-1, ...marks.map((mark) => lastAlive(mark, alive)))
      const kept = marks.filter((at) => (sums[at] as number) >= deps.minTokens(body.model))
      const tokensUpTo = (at: number | undefined) => (at === undefined || at < 0 ? 0 : (sums[at] as number))
      const read = tokensUpTo(hit)
      const last = Math.max(read, tokensUpTo(kept.at(-1)))
      const long = Math.max(read, tokensUpTo(kept.filter((at) => pieces[at]?.mark === '1h').at(-1)))
      return {
        usage: { input: tokensUpTo(pieces.length - 1) - last, read, written5m: last - long, written1h: long - read },
        keep: () => {
          // What is read lives on from now, whether or not it is marked again.
          const used = hit >= 0 ? entries.get(pieces[hit]?.upTo as string) : undefined
          if (used) used.until = now + TTL_MS[used.ttl]
          for (const at of kept) {
            const { upTo, mark } = pieces[at] as Piece
            const ttl = entries.get(upTo)?.ttl === '1h' && alive(at) ? '1h' : (mark as '5m' | '1h')
            entries.set(upTo, { until: now + TTL_MS[ttl], ttl })
          }
        },
      }
    },
  }
}

function lastAlive(mark: number, alive: (at: number) => boolean): number {
  for (let at = mark; at >= Math.max(0, mark - LOOK_BACK); at--) if (alive(at)) return at
  return -1
}

function runningSums(pieces: Piece[]): number[] {
  let sum = 0
  return pieces.map(({ tokens }) => {
    sum += tokens
    return sum
  })
}

function piecesOf(owner: string, body: Body): Piece[] {
  const { model, tools = [], system = [], messages, thinking, tool_choice } = body
  let hash = digest('', { owner, model })
  const piece = (value: unknown): Piece => {
    const mark = markOf(value)
    const plain = withoutMarks(value)
    hash = digest(hash, plain)
    return { tokens: tokensOf(plain), mark, upTo: hash }
  }
  const pieces = [...tools.map(piece), ...blocksOf(system as string | Block[]).map(piece)]
  // What changes how messages are answered makes others of them.
  hash = digest(hash, { thinking, tool_choice })
  for (const { role, content } of messages)
    for (const block of blocksOf(content)) {
      hash = digest(hash, role)
      pieces.push(piece(block))
    }
  const last = pieces.at(-1)
  if (last && body.cache_control) last.mark ??= body.cache_control.ttl ?? '5m'
  return pieces
}

function digest(before: string, value: unknown): string {
  return createHash('sha256')
    .update(`${before}\n${JSON.stringify(value)}`)
    .digest('base64')
}

/** A mark inside a tool result ends the piece that the result is. */
function markOf(value: unknown): '5m' | '1h' | undefined {
  const { cache_control, content } = value as { cache_control?: { ttl?: '5m' | '1h' } | null; content?: unknown }
  const within = Array.isArray(content) ? content.map(markOf).find((mark) => mark) : undefined
  return cache_control ? (cache_control.ttl ?? '5m') : within
}

function withoutMarks(value: unknown): unknown {
  const { cache_control: _mark, content, ...rest } = value as Record<string, unknown>
  if (content === undefined) return rest
  return { ...rest, content: Array.isArray(content) ? content.map(withoutMarks) : content }
}
