/** Renders a session for models: always the same bytes, new ones at the end, until notes replace a long beginning. */
import { hash } from 'node:crypto'
import type { Core } from '../core.ts'
import { type Db, withoutWaiting } from '../db/database.ts'
import { createInTurn } from '../platform/queue.ts'
import { isWithinCharacter, tokensIn } from '../platform/text.ts'
import { type MessageTable, readMessages, type SessionKey } from '../sessions/message-table.ts'
import { sessionName } from '../sessions/sessions.ts'
import { cleanText } from './tools.ts'

/** A message as models are told it; those of transcripts are of this shape, too. Only those with an id can be cited. */
export type SessionMessage = {
  id: string
  by: 'person' | 'agent' | 'tool' | 'injected' | 'system'
  text: string
  toolCalls: readonly { id?: string; name: string; input: string }[]
  toolResults: readonly { callId?: string; text: string }[]
  at?: number
  minutesEast?: number
  startsTurn?: true
}

export type RenderedMessage = { id: string; name: string; text: string; hash: string }

export type Rendered = { head: string; messages: RenderedMessage[]; tokens: number }

/** `messages`: in order; those before the anchor may be left out. `notes`: read only when they have to stand in. */
type Rendering = { key: SessionKey; messages: readonly SessionMessage[]; notes: () => string }

/** Above the first the anchor moves, so that at most the second stays. */
export const MOVE_TOKENS = 60_000
export const KEEP_TOKENS = 20_000

export function createRendering({ db, clock }: Core) {
  const table = createRenderingTable(db.history)
  const inTurn = createInTurn()

  const render = async ({ key, messages, notes }: Rendering): Promise<Rendered & { broken: string | undefined }> => {
    const before = table.find(key) ?? { anchor: 1, notes: '', next: 1 }
    const told = messages.filter(isTold)
    const ids = told.map(({ id }) => id)
    const frozen = new Map(table.frozen(key, ids).map((each) => [each.message, each]))
    const added: FrozenMessage[] = []
    let { next } = before
    const found: Found[] = []
    for (const message of told) {
      const known = frozen.get(message.id)
      if (known && known.number < before.anchor) continue
      const parts = await cleanParts(message)
      const cuts = known ? (JSON.parse(known.cuts) as Cuts) : decideCuts(parts)
      const number = known?.number ?? next++
      if (!known) {
        const fresh = { number, message: message.id, cuts: JSON.stringify(cuts) }
        added.push(fresh)
        frozen.set(message.id, fresh)
      }
      found.push({ message, number, rendered: renderMessage(number, message, parts, cuts) })
    }
    // One that arrives late still comes last: what was told before it stays where it was.
    found.sort((a, b) => a.number - b.number)
    const present = new Set(ids)
    const gone = [...frozen.values()].filter(({ number, message }) => number >= before.anchor && !present.has(message))
    const move = anchorAfter(found)
    const after = move ? { anchor: move, notes: await cleanText(notes()), next } : { ...before, next }
    if (added.length > 0 || gone.length > 0 || move)
      table.save(key, after, { added, gone: gone.map(({ message }) => message) }, clock.now())
    const rendered = found.filter(({ number }) => number >= after.anchor).map((each) => each.rendered)
    return {
      head: headOf(after.notes, after.anchor > 1),
      messages: rendered,
      tokens: rendered.reduce((sum, { text }) => sum + tokensIn(text), 0),
      broken: move ? 'the anchor moved' : gone.length > 0 ? 'messages were taken back' : undefined,
    }
  }

  return {
    anchorOf: (key: SessionKey): string | undefined => {
      const found = table.find(key)
      return found && table.frozen(key, []).find(({ number }) => number >= found.anchor)?.message
    },
    /** In turn: two jobs at once would give one number to two messages. `broken`: why the bytes do not go on. */
    render: (rendering: Rendering) => inTurn(sessionName(rendering.key), () => render(rendering)),
  }
}

type Found = { message: SessionMessage; number: number; rendered: RenderedMessage }

function anchorAfter(found: readonly Found[]): number | undefined {
  const sizes = found.map(({ rendered }) => tokensIn(rendered.text))
  if (sizes.reduce((sum, size) => sum + size, 0) <= MOVE_TOKENS) return undefined
  let at = found.length
  for (let kept = 0; at > 1; at--) {
    kept += sizes[at - 1] as number
    if (kept > KEEP_TOKENS) break
  }
  const turn = found.slice(at).find(({ message }) => message.startsTurn)
  // One message alone may be longer than that.
  return (turn ?? found[at] ?? found.at(-1))?.number
}

function headOf(notes: string, isMoved: boolean): string {
  const standIn = notes === '' ? 'There are no notes of what came before.' : fenced(notes)
  const before = isMoved ? `<session-notes>\n${standIn}\n</session-notes>\n\n` : ''
  return `${before}<transcript>\n`
}

type FrozenMessage = { number: number; message: string; cuts: string }

/** `anchor`: the number of the first message that is told. `next`: no number is ever given twice. */
type Frozen = { anchor: number; notes: string; next: number }

const KEEP_MS = 30 * 86_400_000

export function createRenderingTable(db: Db) {
  const get = db.prepare(
    'SELECT id, anchor, notes, next FROM renderings WHERE harness = @harness AND session = @sessionId',
  )
  const known =
    db.prepare(`SELECT number, message, cuts FROM rendered_messages WHERE rendering = @id AND number >= @anchor
    UNION SELECT number, message, cuts FROM rendered_messages
      WHERE rendering = @id AND message IN (SELECT value FROM json_each(@messages))
    ORDER BY number`)
  const put = db
    .prepare(
      `INSERT INTO renderings (harness, session, anchor, notes, next, at)
       VALUES (@harness, @sessionId, @anchor, @notes, @next, @at)
       ON CONFLICT (session, harness) DO UPDATE SET anchor = @anchor, notes = @notes, next = @next, at = @at
       RETURNING id`,
    )
    .pluck()
  const add = db.prepare('INSERT INTO rendered_messages (rendering, number, message, cuts) VALUES (?, ?, ?, ?)')
  const remove = db.prepare('DELETE FROM rendered_messages WHERE rendering = ? AND message = ?')
  const expire = db.prepare('DELETE FROM renderings WHERE at < ?')
  const find = (key: SessionKey) => get.get(key) as (Frozen & { id: number }) | undefined
  type News = { added: readonly FrozenMessage[]; gone: readonly string[] }
  const save = db.transaction((key: SessionKey, frozen: Frozen, { added, gone }: News, at: number) => {
    expire.run(at - KEEP_MS)
    const id = put.get({ ...key, ...frozen, at })
    for (const message of gone) remove.run(id, message)
    for (const { number, message, cuts } of added) add.run(id, number, message, cuts)
  })
  return {
    find,
    frozen: (key: SessionKey, messages: readonly string[]): FrozenMessage[] => {
      const found = find(key)
      return found ? (known.all({ ...found, messages: JSON.stringify(messages) }) as FrozenMessage[]) : []
    },
    /** All of it or nothing. What a power cut takes back is decided again, and costs a cache at most. */
    save: (key: SessionKey, frozen: Frozen, news: News, at: number) =>
      withoutWaiting(db, () => save(key, frozen, news, at)),
  }
}

type Part = { row: number; from: string | undefined; upTo: number; most?: number; signal: AbortSignal }

/** The messages of a session, read back from its transcripts. `from`: the id of the first; `upTo`: the number of the last. */
export async function readSession(said: MessageTable, { row, from, upTo, most, signal }: Part) {
  const found: SessionMessage[] = []
  for await (const [message, line] of readMessages(said.from(row, from, upTo, most), signal)) {
    const { by, text, toolCalls, toolResults, minutesEast } = line
    const { uid: id, at, startsTurn } = message
    const when = { ...(at !== null && { at }), ...(minutesEast !== undefined && { minutesEast }) }
    found.push({ id, by, text, toolCalls, toolResults, ...when, ...(startsTurn === 1 && { startsTurn: true }) })
  }
  return found
}

/** Neither what a harness or this program put into the conversation, nor records of the harness. */
function isTold({ by, text, toolCalls, toolResults }: SessionMessage): boolean {
  if (by === 'injected' || by === 'system') return false
  return text !== '' || toolCalls.length > 0 || toolResults.length > 0
}

type MessagePart = { kind: 'text' | 'call' | 'result'; text: string }

export function partsOf({ text, toolCalls, toolResults }: SessionMessage): MessagePart[] {
  return [
    { kind: 'text', text },
    ...toolCalls.map(({ input }) => ({ kind: 'call' as const, text: input })),
    ...toolResults.map((result) => ({ kind: 'result' as const, text: result.text })),
  ]
}

export async function cleanParts(message: SessionMessage): Promise<MessagePart[]> {
  const parts: MessagePart[] = []
  for (const { kind, text } of partsOf(message)) parts.push({ kind, text: await cleanText(text) })
  return parts
}

/** One message as a model is told it: fenced, so that nothing in it can pass for anything else. */
export function renderMessage(
  number: number,
  message: SessionMessage,
  parts: readonly MessagePart[],
  cuts = decideCuts(parts),
): RenderedMessage {
  const at = message.at === undefined ? '' : ` at="${new Date(message.at).toISOString().replace(/\.\d+Z$/, 'Z')}"`
  const lines = parts.flatMap(({ kind, text }, n) => {
    const shown = fenced(applyCuts(text, cuts[n]))
    if (kind === 'text') return shown === '' ? [] : [shown]
    const call = kind === 'call' ? message.toolCalls[n - 1] : undefined
    return [call ? `<call tool="${attribute(call.name)}">\n${shown}\n</call>` : `<result>\n${shown}\n</result>`]
  })
  // Short, because models write them back and every one costs.
  const name = `m${number}`
  const text = `<message id="${name}" by="${message.by}"${at}>\n${lines.join('\n')}\n</message>\n`
  return { id: message.id, name, text, hash: hash('sha256', text) }
}

function fenced(text: string): string {
  return text.replace(/<(?=\s*\/?\s*(?:message|call|result|transcript|session-notes)\b)/gi, '&lt;')
}

function attribute(text: string): string {
  return text.replace(/[^\w.:-]/g, '_').slice(0, 100)
}

type Cut = { from: number; to: number; says: string }
/** By the number of the part: the text, then each call, then each result. Parts without a cut are left out. */
type Cuts = Record<number, Cut[]>

const KEPT = {
  text: { chars: 24_000, head: 20_000, tail: 3_000 },
  call: { chars: 1_600, head: 1_000, tail: 300 },
  result: { chars: 1_600, head: 1_000, tail: 300 },
} as const

/** Pictures and archives in the form of text: no model reads them, and one is longer than a session. */
const ENCODED = /(?:data:[\w/+.-]{1,100};base64,)?[A-Za-z0-9+/]{600,}={0,2}/g

function decideCuts(parts: readonly MessagePart[]): Cuts {
  const all = parts.map((part, n) => [n, cutsOf(part)] as const)
  return Object.fromEntries(all.filter(([, cuts]) => cuts.length > 0))
}

function cutsOf({ kind, text }: MessagePart): Cut[] {
  const encoded = [...text.matchAll(ENCODED)].map(({ index, 0: all }) => ({
    from: index,
    to: index + all.length,
    says: `[${all.startsWith('data:image/') ? 'image' : 'encoded data'} left out: ${all.length} characters]`,
  }))
  const rest = text.length - encoded.reduce((sum, { from, to }) => sum + to - from, 0)
  const { chars, head, tail } = KEPT[kind]
  if (rest <= chars) return encoded
  const whole = (at: number) => (isWithinCharacter(text, at) ? at + 1 : at)
  const [from, to] = [whole(head), whole(text.length - tail)]
  const middle = { from, to, says: `[… ${to - from} characters left out …]` }
  // Encoded data that reaches into the middle widens the cut.
  return encoded.reduce<Cut[]>(
    ([wide = middle, ...others], cut) => {
      if (cut.to <= wide.from || cut.from >= wide.to) return [wide, ...others, cut]
      const joined = { from: Math.min(wide.from, cut.from), to: Math.max(wide.to, cut.to) }
      return [{ ...joined, says: `[… ${joined.to - joined.from} characters left out …]` }, ...others]
    },
    [middle],
  )
}

function applyCuts(text: string, cuts: readonly Cut[] = []): string {
  let shown = ''
  let at = 0
  for (const { from, to, says } of cuts.toSorted((a, b) => a.from - b.from)) {
    shown += text.slice(at, from) + says
    at = to
  }
  return shown + text.slice(at)
}
