/** The turns of one session, read back from its files: their texts are stored nowhere else. */
import { setImmediate as turn } from 'node:timers/promises'
import { copied } from '../platform/characters.ts'
import { adapterFor } from './adapters.ts'
import { liveChain } from './chain.ts'
import type { Cursor } from './cursor.ts'
import { HEAD_CHARS, head } from './indexed-text.ts'
import type { Fact } from './message.ts'
import { nameOf, type Source } from './source.ts'
import type { Tail } from './tail.ts'
import { type Turn, turnsOf } from './turns.ts'

type Deps = { tail: Tail; redact: (text: string) => Promise<{ text: string }> }

const SLICE_BYTES = 256_000

export function createReadBack({ tail, redact }: Deps): (sources: readonly Source[]) => Promise<Turn[]> {
  const factsOf = async (source: Source): Promise<Fact[]> => {
    const { read } = adapterFor(source.harness)
    const facts: Fact[] = []
    let cursor: Cursor | undefined
    for (let more = true; more; ) {
      const slice = tail.readSlice(source.path, cursor, { capBytes: SLICE_BYTES })
      if (!('cursor' in slice)) return facts
      // Replaced while it was read: what came before is not part of it.
      if (slice.changed === 'rewritten') facts.length = 0
      for (const { text, offset } of slice.lines)
        for (const fact of read(text)) facts.push(fact.kind === 'message' ? light({ id: `#${offset}`, ...fact }) : fact)
      cursor = slice.cursor
      more = slice.more
      await turn()
    }
    return facts
  }

  return async (sources) => {
    const [first] = sources
    if (!first) return []
    const facts: Fact[] = []
    for (const source of sources) for (const fact of await factsOf(source)) facts.push(fact)
    const { sessionId } = adapterFor(first.harness).describe(nameOf(first))
    const turns = turnsOf(liveChain(facts, { session: sessionId === undefined ? {} : { sessionId } }))
    const clean = []
    for (const told of turns) clean.push({ ...told, prompt: head((await redact(told.prompt)).text) })
    return clean
  }
}

/** Gigabytes of answers and results are read by, and only what a list of turns shows is kept. */
function light(message: Fact & { kind: 'message' }): Fact {
  // Cut only after redaction to what is shown: half of a credential is not recognised.
  const text = message.startsTurn ? copied(head(message.text, 2 * HEAD_CHARS)) : ''
  return { ...message, text, toolCalls: message.toolCalls.map((call) => ({ ...call, input: '' })), toolResults: [] }
}
