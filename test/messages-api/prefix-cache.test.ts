import { describe, expect, it } from 'vitest'
import { createPrefixCache } from '../support/messages-api/prefix-cache.ts'
import type { Body } from '../support/messages-api/wire.ts'

const MINUTE = 60_000
/** A block of that many tokens, its form included. */
const block = (name: string, tokens: number) => ({
  type: 'text' as const,
  text: name.padEnd(tokens * 4 - '{"type":"text","text":""}'.length, '.'),
})
const marked = (name: string, tokens: number, ttl: '5m' | '1h' = '5m') => ({
  ...block(name, tokens),
  cache_control: { type: 'ephemeral' as const, ttl },
})
const ask = (...content: ReturnType<typeof block>[]): Body => ({
  model: 'm',
  max_tokens: 1,
  messages: [{ role: 'user', content }],
})

function kitchen(minTokens = 100) {
  let now = 0
  const cache = createPrefixCache({ now: () => now, minTokens: () => minTokens })
  const use = (body: Body, owner = 'me') => {
    const { usage, keep } = cache.look(owner, body)
    keep()
    return usage
  }
  return { use, pass: (ms: number) => (now += ms), cache }
}

describe('the cache of the scripted Messages API', () => {
  it('writes up to the last mark, and reads that again when the beginning is equal', () => {
    const { use } = kitchen()
    const first = ask(marked('a', 200), block('x', 50))
    expect(use(first)).toEqual({ input: 50, read: 0, written5m: 200, written1h: 0 })
    expect(use(first)).toEqual({ input: 50, read: 200, written5m: 0, written1h: 0 })
    expect(use(ask(block('a', 200), marked('b', 300), block('y', 10)))).toEqual({
      input: 10,
      read: 200,
      written5m: 300,
      written1h: 0,
    })
  })

  it('reads nothing when one byte of the beginning, the model, the tools or the key differ', () => {
    const { use } = kitchen()
    const body = ask(marked('a', 200))
    use(body)
    expect(use(ask(marked('A', 200))).read).toBe(0)
    expect(use({ ...body, model: 'n' }).read).toBe(0)
    expect(use({ ...body, tools: [{ name: 't', input_schema: { type: 'object' } }] }).read).toBe(0)
    expect(use({ ...body, thinking: { type: 'adaptive' } }).read).toBe(0)
    expect(use(body, 'another prefix').read).toBe(0)
    expect(use(body).read).toBe(200)
  })

  it('keeps nothing that is too short', () => {
    const { use } = kitchen(500)
    use(ask(marked('a', 499)))
    expect(use(ask(marked('a', 499)))).toEqual({ input: 499, read: 0, written5m: 0, written1h: 0 })
    use(ask(marked('b', 500)))
    expect(use(ask(marked('b', 500))).read).toBe(500)
  })

  it('forgets after five minutes or an hour, counted from the last use', () => {
    const { use, pass } = kitchen()
    const body = ask(marked('long', 200, '1h'), marked('short', 100))
    expect(use(body)).toEqual({ input: 0, read: 0, written5m: 100, written1h: 200 })
    pass(4 * MINUTE)
    expect(use(body).read).toBe(300)
    pass(4 * MINUTE)
    expect(use(body).read).toBe(300)
    pass(5 * MINUTE)
    expect(use(body)).toEqual({ input: 0, read: 200, written5m: 100, written1h: 0 })
    pass(60 * MINUTE)
    expect(use(body).read).toBe(0)
  })

  it('finds an entry up to twenty blocks before a mark and no further', () => {
    const { use } = kitchen()
    const more = (count: number) => Array.from({ length: count }, (_, n) => block(`m${n}`, 10))
    use(ask(marked('a', 200)))
    expect(use(ask(block('a', 200), ...more(20), marked('z', 10))).read).toBe(0)
    expect(use(ask(block('a', 200), ...more(19), marked('z', 10))).read).toBe(200)
  })

  it('has nothing to read before an answer has begun', () => {
    const { cache } = kitchen()
    const body = ask(marked('a', 200))
    const first = cache.look('me', body)
    expect(cache.look('me', body).usage.read).toBe(0)
    first.keep()
    expect(cache.look('me', body).usage.read).toBe(200)
  })
})
