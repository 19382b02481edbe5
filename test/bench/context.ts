/** The context service: how good its estimate is, and what a compaction from notes takes. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createCompaction, createCompactionGuards } from '../../daemon/context/compact.ts'
import { flatten, type Message } from '../../daemon/context/messages.ts'
import type { Summariser } from '../../daemon/context/summariser.ts'
import { createCounter, roomOf, usageTokens } from '../../daemon/context/token-count.ts'
import { padded } from '../../daemon/platform/text.ts'
import { busySession } from '../support/busy-session.ts'
import { benchCore } from './core.ts'
import { inRounds, quantile, ratio } from './rounds.ts'
import type { Row } from './row.ts'

const TOKENS = 200_000
const ROUNDS = { full: 40, quick: 10 }
const fixtures = fileURLToPath(new URL('../fixtures/transcripts', import.meta.url))

/** What a recorded answer was told to have used, and what is estimated of everything before and in it. */
type Told = { estimated: number; used: number }

export const estimate: Row<'error' | 'bias'> = {
  name: 'estimate',
  what: 'growth of the context between two answers of recorded sessions, estimated from their messages: median error, and median bias',
  yardstick: 'what `usage` of the same answers says',
  goals: { error: { unit: '%' }, bias: { unit: '%' } },

  run: async () => {
    const all = transcripts()
      .flatMap(growths)
      .filter(({ used }) => used > 20)
    const errors = all.map(({ estimated, used }) => (100 * (estimated - used)) / used)
    return {
      figures: { error: { value: quantile(errors.map(Math.abs), 0.5) }, bias: { value: quantile(errors, 0.5) } },
      details: {
        pairs: all.length,
        estimatedTokens: all.reduce((sum, { estimated }) => sum + estimated, 0),
        usedTokens: all.reduce((sum, { used }) => sum + used, 0),
      },
    }
  },
}

export const compacting: Row<'notes'> = {
  name: 'compacting',
  what: `a compaction from notes of a conversation of ${TOKENS / 1_000}k tokens, everything that must survive checked`,
  yardstick: 'JSON.parse of the same conversation',
  goals: { notes: { unit: '×', atMost: 10 } },

  run: async (bench) => {
    const counter = createCounter()
    let turns = 10
    while (counter.messages(busySession(turns)) < TOKENS) turns += 10
    const text = JSON.stringify(busySession(turns))
    const messages = JSON.parse(text) as Message[]
    const lastMessageId = messages[Math.floor(messages.length * 0.9)]?.id ?? ''
    const notes = '# Current State\n_What is going on_\n'.padEnd(20_000, 'Something that was noted down. ')
    const core = await benchCore(bench.home().dir)
    const summariser: Summariser = {
      notesOf: () => ({ text: notes, lastMessageId, before: () => [] }),
      isOnline: () => false,
      transcript: async () => undefined,
      instructions: async () => '',
      ask: async () => ({ failed: 'none', message: 'there is no model' }),
    }
    const conversation = { key: { harness: 'bench', sessionId: 's' }, cwd: '/', source: 'given' as const }
    const wanted = {
      trigger: 'manual' as const,
      preview: true,
      room: roomOf(TOKENS, {}),
      signal: new AbortController().signal,
    }
    const compact = () =>
      createCompaction(
        core,
        createCounter(),
        createCompactionGuards(core),
        summariser,
      )(conversation, flatten(messages), wanted)
    const { strategy } = await compact()
    if (strategy !== 'notes') throw new Error(`it was made from ${strategy}`)
    const taken = await inRounds(ROUNDS[bench.pace], {
      compact: () => timed(compact),
      parse: () => timed(async () => JSON.parse(text)),
    })
    await core.stop(0)
    return {
      figures: { notes: ratio(taken.compact, taken.parse, 0.5) },
      details: {
        messages: messages.length,
        bytes: text.length,
        compactMs: quantile(taken.compact.flat(), 0.5),
        parseMs: quantile(taken.parse.flat(), 0.5),
      },
    }
  },
}

async function timed(work: () => Promise<unknown>): Promise<number[]> {
  const start = performance.now()
  await work()
  return [performance.now() - start]
}

function transcripts(): unknown[][] {
  return readdirSync(fixtures, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.startsWith('claude-code') && path.endsWith('.jsonl'))
    .map((path) =>
      readFileSync(join(fixtures, path), 'utf8')
        .split('\n')
        .flatMap((line) => {
          try {
            return [JSON.parse(line)]
          } catch {
            return []
          }
        }),
    )
}

type Line = { type?: string; message?: { role?: string; id?: string; usage?: Record<string, number> } }

/** From one answer to the next of a session: system prompts and tools are in both, and cancel out. */
function growths(lines: unknown[]): Told[] {
  const counter = createCounter()
  const told: Told[] = []
  let last: { used: number; at: number } | undefined
  const entries = lines as Line[]
  for (const [at, { message }] of entries.entries()) {
    if (message?.role !== 'assistant' || !message.usage || entries[at + 1]?.message?.id === message.id) continue
    const used = usageTokens(message.usage)
    if (last && used > last.used) {
      const between = flatten(entries.slice(last.at + 1, at + 1))
      told.push({
        used: used - last.used,
        estimated: padded(between.reduce((sum, each) => sum + counter.message(each), 0)),
      })
    }
    last = { used, at }
  }
  return told
}
