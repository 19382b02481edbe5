/**
 * Tells a session to models: every time the same bytes, and what is new only at the end, so that a server reads from its
 * cache what an earlier job wrote there. What was decided for a message stays decided. Once it has become too long it
 * begins further on, with the notes of the session in place of what was left out.
 */
import { hash } from 'node:crypto'
import type { Clock } from '../platform/clock.ts'
import { createInTurn } from '../platform/in-turn.ts'
import { tokensIn } from '../platform/tokens.ts'
import { type Cuts, decideCuts, type Part } from './cuts.ts'
import { fenced, isTold, messageText, nameOf, partsOf, type Said } from './message-text.ts'
import type { FrozenMessage, RenderingKey, Renderings } from './rendering-table.ts'

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
