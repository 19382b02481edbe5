import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { connect } from '../../client/index.ts'
import { startDaemon } from '../support/daemon.ts'
import { makeHome } from '../support/home.ts'

type Block = { type: string; [field: string]: unknown }
type Message = { id?: string; role: string; content: string | Block[] }

const turn = (n: number, name: string, chars: number): Message[] => [
  { role: 'user', content: `Request ${n}: the next part.` },
  { role: 'assistant', content: [{ type: 'tool_use', id: `t${n}`, name, input: { command: `make ${n}` } }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: `t${n}`, content: `${n} `.padEnd(chars, 'word ') }] },
  { role: 'assistant', content: `Part ${n} is made.` },
]
const session = (turns: number, name: string, chars: number) => [
  ...Array.from({ length: turns }, (_, n) => turn(n, name, chars)).flat(),
  { role: 'user', content: 'And now?' },
]

async function rig() {
  const home = makeHome()
  const daemon = await startDaemon(home)
  const memory = connect({ socket: home.places.socketPath, deadlineMs: 20_000 })
  const made = (messages: Message[], more: object = {}) =>
    memory.fit({ sessionId: 's', model: 'm', messages, cwd: home.dir, ...more })
  return { home, daemon, memory, made }
}

describe('fit', () => {
  it('gives messages back as they are when the daemon is away', async () => {
    const memory = connect({ socket: '/nowhere/memoryd.sock' })
    const messages = session(2, 'Bash', 90_000)
    expect(await memory.fit({ sessionId: 's', model: 'm', messages })).toEqual({ messages, did: [] })
    expect(memory.available).toBe(false)
    const strict = connect({ socket: '/nowhere/memoryd.sock', strict: true })
    await expect(strict.fit({ sessionId: 's', model: 'm', messages })).rejects.toMatchObject({ code: 'UNREACHABLE' })
  })

  it('does nothing where everything fits', async () => {
    const { made } = await rig()
    const messages = session(3, 'Bash', 4_000)
    const fitted = await made(messages)
    expect(fitted).toEqual({ messages, did: [], tokens: expect.any(Number) })
    expect(fitted.messages).toBe(messages)
  })

  it('keeps a long result in a file, the same each time, though the harness sends the original again', async () => {
    const { made, home } = await rig()
    const messages = session(2, 'Bash', 90_000)
    const first = await made(messages)
    expect(first.did).toEqual([{ step: 'tool-results', stored: ['t0', 't1'] }])
    expect(JSON.stringify(first.messages)).toContain('<persisted-output>')
    expect((await made(messages)).messages).toEqual(first.messages)
    expect((await made(first.messages)).messages).toEqual(first.messages)
    const file = `${home.places.stateDir}/tool-results/s/t1.txt`
    expect(readFileSync(file, 'utf8')).toHaveLength(90_000)
  })

  it('keeps what the settings call long, from the first time on', async () => {
    const home = makeHome()
    const context = { toolResultChars: 20_000, toolResultCharsOf: { Grep: 5_000 } }
    writeFileSync(home.places.configFile, JSON.stringify({ context }))
    await startDaemon(home)
    const fitted = (name: string, chars: number) => {
      const memory = connect({ socket: home.places.socketPath, deadlineMs: 20_000 })
      return memory.fit({ sessionId: `${name} ${chars}`, model: 'm', messages: session(1, name, chars), cwd: home.dir })
    }
    const kept = [{ step: 'tool-results', stored: ['t0'] }]
    expect((await fitted('Bash', 20_001)).did).toEqual(kept)
    expect((await fitted('Bash', 20_000)).did).toEqual([])
    expect((await fitted('Grep', 5_001)).did).toEqual(kept)
    expect((await fitted('Grep', 5_000)).did).toEqual([])
  })

  it('clears old results where that is enough, and goes by what the last response used', async () => {
    const { made } = await rig()
    const messages = session(14, 'Bash', 40_000)
    const fitted = await made(messages, { usage: { input_tokens: 165_000, output_tokens: 100 } })
    expect(fitted.did).toMatchObject([{ step: 'microcompact', tokensBefore: 165_102 }])
    expect(fitted.tokens).toBeLessThan(60_000)
    expect(fitted.messages).toHaveLength(messages.length)
  })

  it.each([
    ['cleared', 'Bash', 'microcompact'],
    ['compacted', 'mcp__db__query', 'compact'],
  ])(
    'does nothing more for a request that is repeated: what was %s is not in that use any more',
    async (_what, tool, step) => {
      const { made } = await rig()
      const usage = { input_tokens: 168_000, output_tokens: 100 }
      const fitted = await made(session(14, tool, 40_000), { usage })
      expect(fitted.did).toMatchObject([{ step }])
      const again = await made(fitted.messages, { usage })
      expect(again).toMatchObject({ did: [], messages: fitted.messages })
      const next = [...fitted.messages, { role: 'assistant', content: 'Done.' }, { role: 'user', content: 'And now?' }]
      expect((await made(next, { usage: { ...usage, output_tokens: 101 } })).did).not.toEqual([])
    },
  )

  it('compacts what nothing else makes fit, and says so; what was refused too', async () => {
    const { made } = await rig()
    const messages = session(16, 'mcp__db__query', 40_000)
    const fitted = await made(messages)
    expect(fitted.did).toMatchObject([{ step: 'compact', strategy: 'extractive' }])
    expect(fitted.tokens).toBeLessThan(60_000)
    expect(fitted.summary).toContain('Request 3: the next part.')
    expect(fitted.messages.at(-1)).toEqual(messages.at(-1))
    const stuffed = [...fitted.messages, { role: 'user', content: 'word '.repeat(160_000) }]
    expect((await made(stuffed)).did).toMatchObject([{ step: 'refused', reason: 'thrash' }])
  })

  it('keeps long results in pieces of text too, and stumbles over none that is broken', async () => {
    const { made } = await rig()
    const text = 'word '.repeat(12_000)
    const result = (tool_use_id: unknown, content: unknown): Block => ({ type: 'tool_result', tool_use_id, content })
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGVsbG8=' } }
    const ids = ['pieces', 'picture', 'nameless', 'x'.repeat(600), '', undefined]
    const messages: Message[] = [
      { role: 'user', content: 'Go.' },
      {
        role: 'assistant',
        content: ids.map((id) => ({ type: 'tool_use', id, name: id === 'nameless' ? '' : 'Bash', input: {} })),
      },
      {
        role: 'user',
        content: [
          result('pieces', [
            { type: 'text', text },
            { type: 'text', text },
          ]),
          result('picture', [{ type: 'text', text }, image]),
          ...ids.slice(2).map((id) => result(id, text)),
        ],
      },
    ]
    const { did, messages: fitted } = await made(messages)
    expect(did).toEqual([{ step: 'tool-results', stored: ['pieces', 'nameless'] }])
    const blocks = (list: readonly Message[]) => (list[2] as Message).content as Block[]
    expect(blocks(fitted)[0]?.content).toContain('<persisted-output>')
    expect(blocks(fitted)[1]).toEqual(blocks(messages)[1])
  })

  it('goes on with messages that are more than the daemon takes, and says so', async () => {
    const { made } = await rig()
    const data = 'aGVsbG8='.repeat(4_200_000)
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }
    const messages: Message[] = [{ role: 'user', content: [image] }]
    const fitted = await made(messages)
    expect(fitted.did).toMatchObject([{ step: 'refused', reason: 'TOO_LARGE' }])
    expect(fitted.messages).toBe(messages)
  })
})
