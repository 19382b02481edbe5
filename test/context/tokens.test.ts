import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Block, Message } from '../../daemon/context/message.ts'
import { breakdownOf, createCounter, padded, textTokens, tokensInContext } from '../../daemon/context/tokens.ts'
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
