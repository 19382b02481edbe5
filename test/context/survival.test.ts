import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { clip, factsOf } from '../../daemon/context/extractive.ts'
import { flatten, type Message } from '../../daemon/context/messages.ts'
import { busySession } from '../support/busy-session.ts'
import { longSession } from '../support/long-session.ts'
import { projectRoot } from '../support/sources.ts'
import { compactRig, summary } from './compact-rig.ts'
import { wordsOf } from './words.ts'

/** As much of each as is kept when there is little room. */
const SHOWN_CHARS = 60

const normal = (text: string) => text.replace(/\s+/g, ' ')

/** What of all that must survive a compaction by this way has lost. */
async function lost(list: readonly Message[], way: 'notes' | 'full' | 'extractive'): Promise<string[]> {
  const middle = list.findLast((message, n) => n < 0.8 * list.length && message.id !== undefined)?.id ?? ''
  const { compact } = await compactRig({
    ...(way === 'full' && { answers: [summary('1. Request and intent: nothing in particular.')] }),
    ...(way === 'notes' && { notes: () => ({ text: '# Current State\nGoing on.', lastMessageId: middle }) }),
  })
  const done = await compact(list)
  expect(done.strategy).toBe(way)
  const words = normal(wordsOf(done.messages as Message[]))
  return factsOf(list).flatMap(({ kind, text }) =>
    words.includes(clip(text, SHOWN_CHARS)) ? [] : [`${kind}: ${text}`],
  )
}

/** A result that is long enough for a summary to be worth it. */
const long: Message[] = [
  {
    id: 'a',
    role: 'assistant',
    content: [{ type: 'tool_use', id: 'toolu_long', name: 'Bash', input: { command: 'cat all' } }],
  },
  {
    id: 'b',
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'toolu_long', content: 'word '.repeat(60_000) }],
  },
  { id: 'c', role: 'assistant', content: 'That was long.' },
  ...Array.from({ length: 6 }, (_, n): Message[] => [
    { id: `d${n}`, role: 'user', content: `And what about number ${n}?` },
    { id: `e${n}`, role: 'assistant', content: `Number ${n} is fine. ${'Indeed. '.repeat(1_500)}` },
  ]).flat(),
]

const folder = join(projectRoot, 'test/fixtures/transcripts')
const fixtures = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
  (path) => path.startsWith('claude-code') && path.endsWith('.jsonl') && !path.includes('agent-'),
)

describe('after any compaction', () => {
  it('everything that must survive a recorded session does', async () => {
    let facts = 0
    for (const path of fixtures) {
      const lines = readFileSync(join(folder, path), 'utf8').split('\n').filter(Boolean)
      const recorded = flatten(lines.flatMap((line) => parsed(line)))
      if (recorded.length === 0) continue
      facts += factsOf(recorded).length
      const list = flatten([...recorded, ...long])
      for (const way of ['notes', 'full', 'extractive'] as const)
        expect({ path, way, lost: await lost(list, way) }).toEqual({ path, way, lost: [] })
    }
    expect(facts).toBeGreaterThan(40)
  })

  it.each([60, 150])('everything that must survive %i turns of a long session does', async (turns) => {
    const list = busySession(turns)
    for (const way of ['notes', 'full', 'extractive'] as const)
      expect({ way, lost: await lost(list, way) }).toEqual({ way, lost: [] })
  })

  it('what the generator knows of a session is there, however it is found out', async () => {
    const list = busySession(60)
    const turns = Array.from({ length: 60 }, (_, turn) => turn)
    const asked = longSession(60).flatMap((turn) => turn.flatMap(({ by, text }) => (by === 'person' ? [text] : [])))
    expect(asked).toHaveLength(60)
    const known = [
      ...turns.filter((turn) => turn % 3 === 0).map((turn) => `/repo/src/area-${turn % 7}/module-${turn}.ts`),
      ...turns.filter((turn) => turn % 5 === 0).map((turn) => `npm run verify:${turn} -- --strict`),
      'finish what was begun in turn 56',
      'document turn 55',
      ...asked.map((text) => clip(text, SHOWN_CHARS)),
    ]
    for (const answers of [undefined, [summary('1. Request and intent: nothing in particular.')]]) {
      const { compact } = await compactRig(answers && { answers })
      const { messages } = await compact(list)
      const words = normal(wordsOf(messages as Message[]))
      expect(known.filter((each) => !words.includes(each))).toEqual([])
    }
  })

  it('and after the next ones, what came since', async () => {
    const session = busySession(90)
    const { compact } = await compactRig()
    let list: Message[] = []
    for (let n = 0; n < session.length; n += 240) {
      list = [...list, ...session.slice(n, n + 240)]
      const facts = factsOf(list)
      const done = await compact(list)
      list = done.messages as Message[]
      const words = normal(wordsOf(list))
      expect(facts.filter(({ text }) => !words.includes(clip(text, SHOWN_CHARS)))).toEqual([])
    }
  })
})

function parsed(line: string): unknown[] {
  try {
    return [JSON.parse(line)]
  } catch {
    return []
  }
}
