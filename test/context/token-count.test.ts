import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Block, Message } from '../../daemon/context/messages.ts'
import {
  breakdownOf,
  type ContextVariables,
  compactionOff,
  createCounter,
  modelName,
  percentLeft,
  roomOf,
  statesAt,
  tokensInContext,
  windowOf,
} from '../../daemon/context/token-count.ts'
import { padded, textTokens } from '../../daemon/platform/text.ts'
import { accepted } from './lists.ts'

const counter = createCounter()
const usage = {
  input_tokens: 10,
  cache_read_input_tokens: 200,
  cache_creation_input_tokens: 3_000,
  output_tokens: 40_000,
}

describe('counting', () => {
  it.each([
    ['', 0],
    ['a', 1],
    ['abcd', 1],
    ['abcde', 2],
    ['äöü', 2],
    ['日本語', 3],
    ['{}', 1],
    ['{"a":1}', 4],
    [' [1,2,3] ', 5],
    ['[1,2,3', 2],
    ['{not json}', 3],
    ['"a string"', 3],
    ['12345678', 2],
  ])('takes %j for %i tokens', (text, tokens) => {
    expect(textTokens(text)).toBe(tokens)
  })

  it.each<[Block, number]>([
    [{ type: 'image', source: {} }, 2_000],
    [{ type: 'document', source: {} }, 2_000],
    [{ type: 'tool_use', id: 'x', name: 'Read', input: { a: 1 } }, 5],
    [{ type: 'thinking', thinking: 'abcde', signature: 'long'.repeat(100) }, 2],
    [{ type: 'tool_result', tool_use_id: 'x', content: 'abcde' }, 2],
    [
      {
        type: 'tool_result',
        tool_use_id: 'x',
        content: [
          { type: 'text', text: 'abcde' },
          { type: 'image', source: {} },
        ],
      },
      2_002,
    ],
    [{ type: 'tool_result', tool_use_id: 'x' }, 0],
  ])('takes a block for %j', (block, tokens) => {
    expect(counter.block(block)).toBe(tokens)
  })

  it('takes a pure estimate a third higher, rounded up', () => {
    expect(counter.messages([{ role: 'user', content: 'abcd' }])).toBe(2)
    expect([0, 1, 2, 3, 30_000].map(padded)).toEqual([0, 2, 3, 4, 40_000])
  })

  it('adds what came after the last answer to what that used, and no third', () => {
    const list: Message[] = [
      { role: 'user', content: 'a'.repeat(4_000) },
      { role: 'assistant', content: 'b'.repeat(4_000) },
      { role: 'user', content: 'abcdefgh' },
    ]
    expect(tokensInContext(counter, list, usage)).toBe(43_212)
    expect(tokensInContext(counter, list.slice(2), usage)).toBe(43_212)
    expect(tokensInContext(counter, list, undefined)).toBe(padded(2_002))
  })

  it('counts a result by its content, also under a name that it knows', () => {
    const block = (content: string): Block => ({ type: 'tool_result', tool_use_id: 'same', content })
    const list = JSON.stringify(Array.from({ length: 1_000 }, (_, n) => n))
    expect(counter.block(block(list))).toBe(Math.ceil(list.length / 2))
    expect(counter.block(block(list))).toBe(Math.ceil(list.length / 2))
    expect(counter.block(block('x'.repeat(list.length)))).toBe(Math.ceil(list.length / 4))
  })

  it('does not parse what would fill memory', () => {
    const bomb = `[${'[],'.repeat(2_000_000)}[]]`
    const before = process.memoryUsage().heapUsed
    expect(textTokens(bomb)).toBe(Math.ceil(bomb.length / 2))
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(50_000_000)
  })

  it('parts a context into what it is made of, and the parts are the whole', () => {
    fc.assert(
      fc.property(accepted({ ids: 'none' }), (list) => {
        const { duplicateReads, ...parts } = breakdownOf(counter, list)
        const sum = Object.values(parts).reduce((total, part) => total + part, 0)
        expect(padded(sum)).toBe(counter.messages(list))
        expect(duplicateReads).toBeLessThanOrEqual(parts.toolResults)
      }),
    )
  })

  it('tells what was read again later', () => {
    const read = (id: string, file_path: string): Message => ({
      role: 'assistant',
      content: [{ type: 'tool_use', id, name: 'Read', input: { file_path } }],
    })
    const got = (id: string, content: string): Message => ({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: id, content }],
    })
    const list = [
      read('1', '/a'),
      got('1', 'x'.repeat(400)),
      read('2', '/b'),
      got('2', 'x'.repeat(40)),
      read('3', '/a'),
      got('3', 'x'.repeat(800)),
    ]
    expect(breakdownOf(counter, list)).toMatchObject({ toolResults: 310, duplicateReads: 100 })
  })
})

const facts = { model: 'm', known: undefined, betas: [], variables: {} }

describe('the window', () => {
  it.each([
    [
      'the suffix before all',
      { ...facts, model: 'm[1m]', known: 50_000, variables: { MEMORYD_CONTEXT_WINDOW: '1' } },
      1_000_000,
    ],
    ['what is known of the model', { ...facts, known: 50_000, betas: ['context-1m-2025-08-07'] }, 50_000],
    [
      'the header',
      { ...facts, betas: ['x', 'context-1m-2025-08-07'], variables: { MEMORYD_CONTEXT_WINDOW: '7' } },
      1_000_000,
    ],
    ['the variable', { ...facts, variables: { MEMORYD_CONTEXT_WINDOW: '70000' } }, 70_000],
    ['no variable that is no number', { ...facts, variables: { MEMORYD_CONTEXT_WINDOW: '70k' } }, 200_000],
    ['no variable that is nothing', { ...facts, variables: { MEMORYD_CONTEXT_WINDOW: '0' } }, 200_000],
    ['what is usual', facts, 200_000],
  ])('follows %s', (_what, given, window) => {
    expect(windowOf(given)).toBe(window)
  })

  it('is no part of the name of a model', () => {
    expect(modelName('claude-sonnet-5-5[1m]')).toBe('claude-sonnet-5-5')
  })
})

describe('thresholds', () => {
  it('are those of the table for a window of 200,000', () => {
    expect(roomOf(200_000, {})).toEqual({
      window: 200_000,
      effective: 180_000,
      thresholds: { warning: 160_000, error: 160_000, autoCompact: 167_000, blocked: 177_000 },
    })
  })

  it.each([
    [159_999, [false, false, false, false]],
    [160_000, [true, true, false, false]],
    [166_999, [true, true, false, false]],
    [167_000, [true, true, true, false]],
    [176_999, [true, true, true, false]],
    [177_000, [true, true, true, true]],
  ])('hold from themselves on: %i', (tokens, states) => {
    expect(Object.values(statesAt(tokens, roomOf(200_000, {})))).toEqual(states)
  })

  it.each([
    ['50', 90_000],
    ['33.3', 59_940],
    ['92.7', 166_860],
    ['92.8', 167_000],
    ['100', 167_000],
    ['100.1', 167_000],
    ['0', 167_000],
    ['-5', 167_000],
    ['half', 167_000],
    ['', 167_000],
    ['0.001', 1],
  ])('of auto-compaction are lowered by %j percent to %i, and never raised', (percent, tokens) => {
    const variables: ContextVariables = { CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: percent }
    expect(roomOf(200_000, variables).thresholds.autoCompact).toBe(tokens)
  })

  it.each([
    [0, 100],
    [90_000, 50],
    [180_000, 0],
    [500_000, 0],
  ])('leave of %i tokens %i percent', (tokens, percent) => {
    expect(percentLeft(tokens, roomOf(200_000, {}))).toBe(percent)
  })

  it('are never below nothing', () => {
    expect(roomOf(10_000, {})).toMatchObject({ effective: 0, thresholds: { blocked: 0 } })
    expect(percentLeft(1, roomOf(10_000, {}))).toBe(0)
  })
})

describe('compaction', () => {
  const on = { enabled: true, autoCompact: true }
  it.each<[string, 'auto' | 'manual', ContextVariables, typeof on, string | undefined]>([
    ['is on', 'auto', {}, on, undefined],
    ['is off for all', 'manual', { DISABLE_COMPACT: '1' }, on, 'DISABLE_COMPACT is set'],
    ['is off for automatic ones', 'auto', { DISABLE_AUTO_COMPACT: 'true' }, on, 'DISABLE_AUTO_COMPACT is set'],
    ['is on for a person then', 'manual', { DISABLE_AUTO_COMPACT: 'true' }, on, undefined],
    [
      'is not off by a variable that says no',
      'auto',
      { DISABLE_COMPACT: '0', DISABLE_AUTO_COMPACT: 'false' },
      on,
      undefined,
    ],
    ['is off by the setting', 'auto', {}, { ...on, autoCompact: false }, 'context.autoCompact is false'],
    ['is on for a person by the setting', 'manual', {}, { ...on, autoCompact: false }, undefined],
    ['is off with all of it', 'manual', {}, { ...on, enabled: false }, 'context.enabled is false'],
  ])('%s', (_what, trigger, variables, settings, off) => {
    expect(compactionOff(trigger, variables, settings)).toBe(off)
  })
})
