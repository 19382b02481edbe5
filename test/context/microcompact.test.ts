import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Block, blocksOf, type Message, resultIdOf, toolUsesOf } from '../../daemon/context/messages.ts'
import {
  CLEARED,
  clearable,
  clearBySize,
  clearByTime,
  editsAtApi,
  planCached,
} from '../../daemon/context/microcompact.ts'
import { createCounter } from '../../daemon/context/token-count.ts'
import { accepted, problemWith } from './lists.ts'

const counter = createCounter()
const HOUR = 3_600_000

/** So many calls of a tool, each with a result of so many tokens before the third is added. */
function session(count: number, tokens: number, name = 'Bash', more: Block[] = []): Message[] {
  return [
    { role: 'user', content: 'Go.' },
    ...Array.from({ length: count }, (_, n): Message[] => [
      { role: 'assistant', content: [{ type: 'tool_use', id: `t${n}`, name, input: {} }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: `t${n}`, content: 'x'.repeat(tokens * 4) }, ...more],
      },
    ]).flat(),
  ]
}
const cleared = (messages: readonly Message[]) =>
  messages.flatMap(({ content }) =>
    blocksOf(content).flatMap((block) => (block.content === CLEARED ? [resultIdOf(block)] : [])),
  )

describe('micro-compaction of any list', () => {
  const forms = [
    (list: Message[]) => clearByTime(counter, list, { gapMs: HOUR, keep: 1 }),
    (list: Message[]) => clearBySize(counter, list, { tokens: 1, warning: 0 }),
  ]
  it('gives one that the server takes, no longer than before, the same each time, with everything else as it was', () => {
    fc.assert(
      fc.property(accepted({ ids: 'given' }), fc.constantFrom(...forms), (list, form) => {
        const result = form(list)
        expect(problemWith(result.messages)).toBeUndefined()
        expect(counter.messages(result.messages)).toBeLessThanOrEqual(counter.messages(list))
        expect(form(list)).toEqual(result)
        const uses = toolUsesOf(list)
        for (const [n, message] of result.messages.entries()) {
          const before = list[n] as Message
          expect([message.id, message.role]).toEqual([before.id, before.role])
          for (const [k, block] of blocksOf(message.content).entries()) {
            const was = blocksOf(before.content)[k]
            if (JSON.stringify(block) === JSON.stringify(was)) continue
            const tool = uses.get(resultIdOf(block) ?? '')?.name
            if (tool === undefined)
              expect(was).toEqual({ type: 'text', text: expect.stringContaining('<memoryd-context>') })
            else expect(tool).toMatch(/^(Read|Bash|Grep|Glob|WebSearch|WebFetch|Edit|Write)$/)
          }
        }
        expect(form(result.messages).results.every(({ block }) => block.content !== CLEARED)).toBe(true)
      }),
      { numRuns: 200 },
    )
  })
})

describe('by time', () => {
  it.each([
    [HOUR - 1, 0],
    [HOUR, 3],
    [undefined, 0],
  ])('clears after a gap of %s all but the newest five: %i', (gapMs, count) => {
    expect(cleared(clearByTime(counter, session(8, 100), { gapMs }).messages)).toHaveLength(count)
  })

  it('keeps at least one', () => {
    expect(cleared(clearByTime(counter, session(3, 100), { gapMs: HOUR, keep: 0 }).messages)).toEqual(['t0', 't1'])
  })
})

describe('by size', () => {
  it('clears nothing below the warning', () => {
    const list = session(10, 10_000)
    expect(clearBySize(counter, list, { tokens: 159_999, warning: 160_000 }).results).toEqual([])
    expect(cleared(clearBySize(counter, list, { tokens: 160_000, warning: 160_000 }).messages)).toEqual(
      Array.from({ length: 7 }, (_, n) => `t${n}`),
    )
  })

  it.each([
    ['with less than 40,000 tokens of results', session(6, 4_999), 0],
    ['with less, though one of them is large', [...session(1, 20_000), ...session(3, 3_330).map(renamed)], 0],
    ['with as much, one of them large', [...session(1, 20_000), ...session(3, 3_334).map(renamed)], 1],
    ['from 40,000 tokens of results on', session(7, 5_000), 4],
    ['where it frees less than 20,000', [...session(1, 14_000), ...session(3, 6_000).map(renamed)], 0],
    ['where it frees that much', [...session(1, 15_020), ...session(3, 6_000).map(renamed)], 1],
    ['of tools it does not know', session(6, 20_000, 'mcp__db__query'), 0],
  ])('%s', (_what, list, count) => {
    expect(cleared(clearBySize(counter, list, { tokens: 1, warning: 0 }).messages)).toHaveLength(count)
  })

  it('clears old memories along with it, and leaves what persons said beside them', () => {
    const memory = { type: 'text', text: '<memoryd-context>\nA memory of old.\n</memoryd-context>' }
    const list = session(6, 10_000, 'Read', [memory, { type: 'text', text: 'And <memoryd-context> is a tag.' }])
    const { messages } = clearBySize(counter, list, { tokens: 1, warning: 0 })
    const texts = messages.flatMap(({ content }) =>
      blocksOf(content).flatMap(({ text }) => (text === undefined ? [] : [text])),
    )
    expect(texts.filter((text) => text === CLEARED)).toHaveLength(3)
    expect(texts.filter((text) => text === memory.text)).toHaveLength(3)
    expect(texts.filter((text) => text === 'And <memoryd-context> is a tag.')).toHaveLength(6)
  })
})

describe('memories that were shown', () => {
  const { memories: none } = clearBySize(counter, session(6, 10_000), { tokens: 1, warning: 0 })
  const memory = '<memoryd-context>\nA memory of old, told at some length.\n</memoryd-context>'
  const recalled = `<system-reminder>\n${memory}\n</system-reminder>\n`

  it.each([
    ['as they are recalled', recalled, true],
    ['by themselves', memory, true],
    ['with words in between', `${memory} And what I said. ${memory}`, false],
    ['with words behind', `${recalled} And what I said.`, false],
    ['beside a reminder of the harness', `<system-reminder>Mind the gap.</system-reminder>${recalled}`, false],
    [
      'as what stands for the conversation',
      memory.replace('A', `${'The conversation before this point was compacted.'} A`),
      false,
    ],
  ])('%s', (_what, text, isCleared) => {
    expect(none).toBe(false)
    const list = session(6, 10_000).flatMap((message, n): Message[] =>
      n === 2 ? [message, { role: 'user', content: text }, { role: 'assistant', content: text }] : [message],
    )
    const { messages, memories } = clearBySize(counter, list, { tokens: 1, warning: 0 })
    expect(memories).toBe(isCleared)
    expect(messages.slice(3, 5).map(({ content }) => content)).toEqual([isCleared ? CLEARED : text, text])
  })
})

describe('at the API', () => {
  it('asks the server to clear by itself', () => {
    expect(editsAtApi(session(3, 10), { thinking: 'one' })).toEqual({
      edits: [
        { type: 'clear_thinking_20251015', keep: { type: 'thinking_turns', value: 1 } },
        {
          type: 'clear_tool_uses_20250919',
          trigger: { type: 'input_tokens', value: 180_000 },
          clear_at_least: { type: 'input_tokens', value: 140_000 },
        },
      ],
    })
    expect(editsAtApi([], { thinking: 'all' }).edits[0]).toEqual({ type: 'clear_thinking_20251015', keep: 'all' })
  })

  it('has the server spare what came of tools that cannot be asked again', () => {
    const list = [...session(21, 10), ...session(2, 10, 'mcp__db__query').map(renamed)]
    const spared = { type: 'clear_tool_uses_20250919', exclude_tools: ['mcp__db__query'] }
    expect(editsAtApi(list, { thinking: 'one' }).edits[1]).toMatchObject(spared)
    expect(planCached(counter, list).contextManagement?.edits).toMatchObject([spared])
    expect(planCached(counter, session(21, 10)).contextManagement?.edits[0]).not.toHaveProperty('exclude_tools')
  })

  it.each([
    [20, 0],
    [21, 16],
    [36, 16],
    [37, 32],
  ])('plans, when %i results are registered, to remove %i', (count, removed) => {
    const list = session(count, 10)
    expect(planCached(counter, list).cleared).toEqual(Array.from({ length: removed }, (_, n) => `t${n}`))
  })

  it('never takes a plan back while more is said', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 0, max: 30 }), (count, more) => {
        const before = planCached(counter, session(count, 10)).cleared
        expect(planCached(counter, session(count + more, 10)).cleared.slice(0, before.length)).toEqual(before)
      }),
    )
  })

  it('registers what may be cleared and nothing else', () => {
    expect(clearable(counter, session(30, 10, 'Task'))).toEqual([])
    expect(planCached(counter, session(30, 10, 'Task'))).toEqual({ contextManagement: undefined, cleared: [] })
  })
})

function renamed(message: Message): Message {
  return JSON.parse(
    JSON.stringify(message)
      .replaceAll('"t', '"u')
      .replaceAll('"uool', '"tool')
      .replaceAll('"uype"', '"type"')
      .replaceAll('"uext"', '"text"'),
  )
}

it('clears no result with an image in it: no file could give that back', () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGVsbG8=' } }
  const list = session(20, 8_000).map((message, n) =>
    n === 2
      ? {
          ...message,
          content: [{ type: 'tool_result', tool_use_id: 't0', content: [{ type: 'text', text: 'x' }, image] }],
        }
      : message,
  )
  for (const { messages, results } of [
    clearByTime(counter, list, { gapMs: HOUR }),
    clearBySize(counter, list, { tokens: 1, warning: 0 }),
  ]) {
    expect(results.length).toBeGreaterThan(10)
    expect(messages[2]).toEqual(list[2])
  }
})
