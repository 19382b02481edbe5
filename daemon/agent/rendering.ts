/**
 * Tells a session to models: every time the same bytes, and what is new only at the end, so that a server reads from its
 * cache what an earlier job wrote there. What was decided for a message stays decided. Once it has become too long it
 * begins further on, with the notes of the session in place of what was left out.
 */
import { hash } from 'node:crypto'
import { type Db, withoutWaiting } from '../db/database.ts'
import type { Clock } from '../platform/clock.ts'
import { createInTurn } from '../platform/queue.ts'
import { tokensIn } from '../platform/text.ts'

export type RenderedMessage = { id: string; name: string; text: string; hash: string }

export type Rendered = {
  /** What stands before the first message. */
  head: string
  messages: RenderedMessage[]
  tokens: number
}

type Deps = {
  renderings: Renderings
  redact: (text: string) => Promise<string>
  clock: Clock
  /** The bytes that follow do not go on where the last ones ended. Said before anybody has them. */
  onBreak: (key: RenderingKey, because: string) => void
}

type Told = {
  key: RenderingKey
  /** In order; those before the anchor may be left out. */
  messages: readonly Said[]
  /** The notes of the session as they are now; asked for only when they have to stand in. */
  notes: () => string
}

/** Past the first the anchor moves, and the second is what stays. */
export const MOVE_TOKENS = 60_000
export const KEEP_TOKENS = 20_000

export function createRendering({ renderings, redact, clock, onBreak }: Deps) {
  const clean = async (said: Said): Promise<Part[]> => {
    const parts: Part[] = []
    for (const { kind, text } of partsOf(said)) parts.push({ kind, text: await redact(text) })
    return parts
  }
  const inTurn = createInTurn()

  const render = async ({ key, messages, notes }: Told): Promise<Rendered> => {
    const before = renderings.find(key) ?? { anchor: 1, notes: '', next: 1 }
    const told = messages.filter(isTold)
    const ids = told.map(({ id }) => id)
    const frozen = new Map(renderings.frozen(key, ids).map((each) => [each.message, each]))
    const added: FrozenMessage[] = []
    let { next } = before
    const found: Found[] = []
    for (const said of told) {
      const known = frozen.get(said.id)
      if (known && known.number < before.anchor) continue
      const parts = await clean(said)
      const cuts = known ? (JSON.parse(known.cuts) as Cuts) : decideCuts(parts)
      const number = known?.number ?? next++
      if (!known) {
        const fresh = { number, message: said.id, cuts: JSON.stringify(cuts) }
        added.push(fresh)
        frozen.set(said.id, fresh)
      }
      const text = messageText(number, said, parts, cuts)
      found.push({ said, number, rendered: { id: said.id, name: nameOf(number), text, hash: hash('sha256', text) } })
    }
    // One that arrives late still comes last: what was told before it stays where it was.
    found.sort((a, b) => a.number - b.number)
    const present = new Set(ids)
    const gone = [...frozen.values()].filter(({ number, message }) => number >= before.anchor && !present.has(message))
    const move = moveTo(found)
    const after = move ? { anchor: move, notes: await redact(notes()), next } : { ...before, next }
    if (added.length > 0 || gone.length > 0 || move)
      renderings.save(key, after, { added, gone: gone.map(({ message }) => message) }, clock.now())
    if (move) onBreak(key, 'the anchor moved')
    else if (gone.length > 0) onBreak(key, 'messages were taken back')
    const rendered = found.filter(({ number }) => number >= after.anchor).map((each) => each.rendered)
    return {
      head: headOf(after.notes, after.anchor > 1),
      messages: rendered,
      tokens: rendered.reduce((sum, { text }) => sum + tokensIn(text), 0),
    }
  }

  return {
    /** The first message that is still told, so that nobody has to read what comes before it. */
    anchorOf: (key: RenderingKey): string | undefined => {
      const found = renderings.find(key)
      return found && renderings.frozen(key, []).find(({ number }) => number >= found.anchor)?.message
    },
    /** In turn: two jobs of one session at once would give one number to two messages. */
    render: (told: Told): Promise<Rendered> => inTurn(sessionName(told.key), () => render(told)),
  }
}

/** One word for a session, for whatever is kept by session. */
export function sessionName({ harness, session }: RenderingKey): string {
  return JSON.stringify([harness, session])
}

type Found = { said: Said; number: number; rendered: RenderedMessage }

/** At the beginning of a turn where there is one within what may stay. */
function moveTo(found: readonly Found[]): number | undefined {
  const sizes = found.map(({ rendered }) => tokensIn(rendered.text))
  if (sizes.reduce((sum, size) => sum + size, 0) <= MOVE_TOKENS) return undefined
  let at = found.length
  for (let kept = 0; at > 1; at--) {
    kept += sizes[at - 1] as number
    if (kept > KEEP_TOKENS) break
  }
  const turn = found.slice(at).find(({ said }) => said.startsTurn)
  // One message alone may be more than may stay.
  return (turn ?? found[at] ?? found.at(-1))?.number
}

function headOf(notes: string, moved: boolean): string {
  const standIn = notes === '' ? 'There are no notes of what came before.' : fenced(notes)
  const before = moved ? `<session-notes>\n${standIn}\n</session-notes>\n\n` : ''
  return `${before}<transcript>\n`
}

/** How each session is told to models: decided once, and then the same bytes for as long as it is told. */

export type RenderingKey = { harness: string; session: string }

/** `cuts`: what is left out of the message; opaque here. */
export type FrozenMessage = { number: number; message: string; cuts: string }

/** `anchor`: the number of the first message that is told. `next`: no number is ever given twice. */
export type Rendering = { anchor: number; notes: string; next: number }

export type Renderings = {
  find(key: RenderingKey): Rendering | undefined
  /** Those of the named messages that are known, and all from the anchor on. */
  frozen(key: RenderingKey, messages: readonly string[]): FrozenMessage[]
  /** All of it or nothing. Sessions that nobody told of for long go. */
  save(
    key: RenderingKey,
    rendering: Rendering,
    news: { added: readonly FrozenMessage[]; gone: readonly string[] },
    at: number,
  ): void
}

/** A session that was not told for so long begins anew when it is. */
const KEEP_MS = 30 * 86_400_000

export function createRenderings(db: Db): Renderings {
  const get = db.prepare('SELECT id, anchor, notes, next FROM renderings WHERE harness = ? AND session = ?')
  const known =
    db.prepare(`SELECT number, message, cuts FROM rendered_messages WHERE rendering = @id AND number >= @anchor
    UNION SELECT number, message, cuts FROM rendered_messages
      WHERE rendering = @id AND message IN (SELECT value FROM json_each(@messages))
    ORDER BY number`)
  const put = db
    .prepare(
      `INSERT INTO renderings (harness, session, anchor, notes, next, at)
       VALUES (@harness, @session, @anchor, @notes, @next, @at)
       ON CONFLICT (session, harness) DO UPDATE SET anchor = @anchor, notes = @notes, next = @next, at = @at
       RETURNING id`,
    )
    .pluck()
  const add = db.prepare('INSERT INTO rendered_messages (rendering, number, message, cuts) VALUES (?, ?, ?, ?)')
  const remove = db.prepare('DELETE FROM rendered_messages WHERE rendering = ? AND message = ?')
  const expire = db.prepare('DELETE FROM renderings WHERE at < ?')
  const find = ({ harness, session }: RenderingKey) =>
    get.get(harness, session) as (Rendering & { id: number }) | undefined
  const save = db.transaction(
    (key: RenderingKey, rendering: Rendering, { added, gone }: Parameters<Renderings['save']>[2], at: number) => {
      expire.run(at - KEEP_MS)
      const id = put.get({ ...key, ...rendering, at })
      for (const message of gone) remove.run(id, message)
      for (const { number, message, cuts } of added) add.run(id, number, message, cuts)
    },
  )
  return {
    find: (key) => {
      const found = find(key)
      return found && { anchor: found.anchor, notes: found.notes, next: found.next }
    },
    frozen: (key, messages) => {
      const found = find(key)
      if (!found) return []
      const { id, anchor } = found
      return known.all({ id, anchor, messages: JSON.stringify(messages) }) as FrozenMessage[]
    },
    // What a power cut takes back is decided again, and costs a cache at most.
    save: (key, rendering, changes, at) => withoutWaiting(db, () => save(key, rendering, changes, at)),
  }
}

/** One message of a transcript as a model is told it: fenced, so that nothing in it can pass for anything else. Pure. */

/** What is told of a message; the daemon's own messages are of this shape. Only those with an id can be named. */
export type Said = {
  id: string
  by: 'person' | 'agent' | 'tool' | 'injected' | 'system'
  text: string
  toolCalls: readonly { name: string; input: string }[]
  toolResults: readonly { text: string }[]
  at?: number
  minutesEast?: number
  startsTurn?: true
}

/** What nobody said is told to nobody: neither what a harness or this program put there, nor its records. */
export function isTold({ by, text, toolCalls, toolResults }: Said): boolean {
  if (by === 'injected' || by === 'system') return false
  return text !== '' || toolCalls.length > 0 || toolResults.length > 0
}

export function partsOf({ text, toolCalls, toolResults }: Said): Part[] {
  return [
    { kind: 'text', text },
    ...toolCalls.map(({ input }) => ({ kind: 'call' as const, text: input })),
    ...toolResults.map((result) => ({ kind: 'result' as const, text: result.text })),
  ]
}

/** `parts` are those of the message, without credentials. */
export function messageText(number: number, said: Said, parts: readonly Part[], cuts: Cuts): string {
  const at = said.at === undefined ? '' : ` at="${new Date(said.at).toISOString().replace(/\.\d+Z$/, 'Z')}"`
  const lines = parts.flatMap(({ kind, text }, n) => {
    const shown = fenced(applyCuts(text, cuts[n]))
    if (kind === 'text') return shown === '' ? [] : [shown]
    const call = kind === 'call' ? said.toolCalls[n - 1] : undefined
    return [call ? `<call tool="${attribute(call.name)}">\n${shown}\n</call>` : `<result>\n${shown}\n</result>`]
  })
  return `<message id="${nameOf(number)}" by="${said.by}"${at}>\n${lines.join('\n')}\n</message>\n`
}

/** Short, because models write them back and every one costs. */
export function nameOf(number: number): string {
  return `m${number}`
}

/** A text that spells one of our marks does not become one. */
export function fenced(text: string): string {
  return text.replace(/<(?=\s*\/?\s*(?:message|call|result|transcript|session-notes)\b)/gi, '&lt;')
}

function attribute(text: string): string {
  return text.replace(/[^\w.:-]/g, '_').slice(0, 100)
}

/** What is left out of a message when it is told to a model, decided once for each. Pure. */

/** From here to there, in characters, and what is said in its place. */
export type Cut = { from: number; to: number; says: string }
/** By the number of the part: the text, then each call, then each result. Parts without a cut are left out. */
export type Cuts = Record<number, Cut[]>

export type Part = { kind: 'text' | 'call' | 'result'; text: string }

/** How much of the head and the tail of each stays. */
const KEPT = {
  text: { chars: 24_000, head: 20_000, tail: 3_000 },
  call: { chars: 1_600, head: 1_000, tail: 300 },
  result: { chars: 1_600, head: 1_000, tail: 300 },
} as const

/** Pictures and archives in the form of text: no model reads them, and one is longer than a session. */
const ENCODED = /(?:data:[\w/+.-]{1,100};base64,)?[A-Za-z0-9+/]{600,}={0,2}/g

export function decideCuts(parts: readonly Part[]): Cuts {
  const cuts: Cuts = {}
  for (const [n, part] of parts.entries()) {
    const found = cutsOf(part)
    if (found.length > 0) cuts[n] = found
  }
  return cuts
}

function cutsOf({ kind, text }: Part): Cut[] {
  const encoded = [...text.matchAll(ENCODED)].map(({ index, 0: all }) => ({
    from: index,
    to: index + all.length,
    says: `[${all.startsWith('data:image/') ? 'image' : 'encoded data'} left out: ${all.length} characters]`,
  }))
  const rest = text.length - encoded.reduce((sum, { from, to }) => sum + to - from, 0)
  const { chars, head, tail } = KEPT[kind]
  if (rest <= chars) return encoded
  const from = whole(text, head)
  const to = whole(text, text.length - tail)
  const middle = { from, to, says: `[… ${to - from} characters left out …]` }
  // What lies in the middle goes with it; what reaches into it makes it longer.
  return encoded.reduce<Cut[]>(
    ([wide = middle, ...others], cut) => {
      if (cut.to <= wide.from || cut.from >= wide.to) return [wide, ...others, cut]
      const joined = { from: Math.min(wide.from, cut.from), to: Math.max(wide.to, cut.to) }
      return [{ ...joined, says: `[… ${joined.to - joined.from} characters left out …]` }, ...others]
    },
    [middle],
  )
}

/** Not between the halves of one character. */
function whole(text: string, at: number): number {
  return /[\udc00-\udfff]/.test(text[at] ?? '') ? at + 1 : at
}

export function applyCuts(text: string, cuts: readonly Cut[] = []): string {
  let shown = ''
  let at = 0
  for (const { from, to, says } of cuts.toSorted((a, b) => a.from - b.from)) {
    shown += text.slice(at, from) + says
    at = to
  }
  return shown + text.slice(at)
}
