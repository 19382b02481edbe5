import { describe, expect, it } from 'vitest'
import type { Limits } from '../../daemon/agent/agent.ts'
import { runLoop } from '../../daemon/agent/loop.ts'
import type { ToolRunner } from '../../daemon/agent/tool-runner.ts'
import type { Block, ModelAnswer, ModelFailure, ModelRequest, Provider, Usage } from '../../daemon/models/wire.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { manualTime } from '../support/clock.ts'

const usage: Usage = { input: 10, cacheRead: 0, cacheWrite: 0, output: 5 }
const answer = (content: Block[], stop = 'end_turn'): ModelAnswer => ({ content, stop, usage, requestId: undefined })
const text = (said: string): Block => ({ type: 'text', text: said })
const use = (id: string, name = 'Read', input: Record<string, unknown> = {}): Block => ({
  type: 'tool_use',
  id,
  name,
  input,
})
const asks = (...content: Block[]) => answer(content, 'tool_use')
const result = (toolUseId: string, content: string, more = {}) => ({ type: 'tool_result', toolUseId, content, ...more })

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))

type Model = (
  request: ModelRequest,
  at: { signal: AbortSignal },
  call: number,
) => ModelAnswer | ModelFailure | Promise<never>

function rig(model: Model, limits: Partial<Limits> = {}, until: 'done' | 'changed' = 'done') {
  const requests: ModelRequest[] = []
  const order: string[] = []
  const call: Provider['call'] = async (request, at) => {
    requests.push(request)
    return model(request, at, requests.length)
  }
  const tools: ToolRunner = {
    run: async ({ name, input }) => {
      const what = `${name} ${JSON.stringify(input)}`
      order.push(`begin ${what}`)
      await new Promise((resolve) => setImmediate(resolve))
      order.push(`end ${what}`)
      return name === 'Bad' ? { content: 'Denied: no', isError: true } : { content: `did ${name}`, isError: false }
    },
    deny: async (name, because) => {
      order.push(`deny ${name}`)
      return { content: `Denied: ${because}`, isError: true }
    },
    delivered: () => order.push('delivered'),
    denials: () => 0,
    astray: () => 0,
  }
  const abort = new AbortController()
  const turns: unknown[] = []
  const time = manualTime()
  const run = (clock = time.clock) =>
    runLoop({
      call,
      request: {
        model: 'm',
        system: [],
        tools: [],
        maxTokens: 100,
        messages: [{ role: 'user', content: [text('go')] }],
      },
      tools,
      limits: { turns: 5, outputTokens: 1_000, wallMs: 60_000, ...limits },
      clock,
      signal: abort.signal,
      priceOf: ({ output }) => output / 10,
      marks: 'tail',
      until,
      onTurn: (turn) => turns.push(turn),
    })
  return { run, requests, order, abort, turns, time }
}

describe('a conversation', () => {
  it('goes on until no tool is asked for, sends every result back, and lets the mark for the cache move along', async () => {
    const { run, requests, turns } = rig((_request, _at, n) =>
      n === 1
        ? asks(text(''), text('look'), use('a'), use('b', 'Bad'))
        : n === 2
          ? asks(use('c', 'Grep'))
          : answer([text('all '), text('done')]),
    )
    expect(await run()).toEqual({ ended: 'done', text: 'all done', turns: 3, calls: [usage, usage, usage] })
    expect(requests.map(({ messages }) => messages.slice(1))).toEqual([
      [],
      [
        { role: 'assistant', content: [text('look'), use('a'), use('b', 'Bad')] },
        {
          role: 'user',
          content: [result('a', 'did Read'), result('b', 'Denied: no', { isError: true, cacheControl: '5m' })],
        },
      ],
      [
        { role: 'assistant', content: [text('look'), use('a'), use('b', 'Bad')] },
        { role: 'user', content: [result('a', 'did Read'), result('b', 'Denied: no', { isError: true })] },
        { role: 'assistant', content: [use('c', 'Grep')] },
        { role: 'user', content: [result('c', 'did Grep', { cacheControl: '5m' })] },
      ],
    ])
    expect(turns).toEqual([
      { turn: 1, text: 'look', tools: ['Read', 'Bad'], usage },
      { turn: 2, text: '', tools: ['Grep'], usage },
      { turn: 3, text: 'all done', tools: [], usage },
    ])
  })

  it('runs the calls of an answer one after another, in their order', async () => {
    const { run, order } = rig((_request, _at, n) =>
      n === 1 ? asks(use('1', 'Read'), use('2', 'Write'), use('3', 'Grep')) : answer([text('ok')]),
    )
    await run()
    const each = ['Read', 'Write', 'Grep'].flatMap((name) => [`begin ${name} {}`, `end ${name} {}`])
    expect(order).toEqual([...each, 'delivered'])
  })
})

describe('a conversation that is about changes', () => {
  it('ends with the first answer whose changes were all accepted', async () => {
    const edits = (n: number, ...more: Block[]) => asks(use(`e${n}`, 'Edit'), ...more)
    const answers = [
      asks(use('r')),
      edits(1, use('b', 'Bad')),
      edits(2, use('w', 'Write')),
      answer([text('never asked')]),
    ]
    const { run, requests } = rig((_request, _at, n) => answers[n - 1] as ModelAnswer, {}, 'changed')
    expect(await run()).toMatchObject({ ended: 'done', turns: 3 })
    expect(requests).toHaveLength(3)
  })
})

describe('limits', () => {
  const forever = (_request: ModelRequest, _at: unknown, n: number) => asks(use(`t${n}`))

  it.each([
    ['turns', { turns: 3 }, 3, 'the limit of 3 turns was reached'],
    ['output', { outputTokens: 20 }, 4, 'the limit of 20 output tokens was reached'],
    ['cost', { usd: 1 }, 2, 'the limit of 1 dollars was reached'],
  ] as const)('end a model that never would: %s', async (limit, limits, turns, why) => {
    const { run, order } = rig(forever, limits)
    expect(await run()).toMatchObject({ ended: 'limit', limit, why, turns })
    // What the last answer asked for was done: it may be a change that was accepted.
    expect(order.filter((each) => each === 'delivered')).toHaveLength(turns)
  })

  it('end an answer that was cut at its longest, and one that takes too long', async () => {
    const cut = rig(() => answer([text('half of a')], 'max_tokens'))
    expect(await cut.run()).toMatchObject({ ended: 'limit', limit: 'output', text: 'half of a' })
    const { run, time } = rig(() => new Promise<never>(() => {}))
    const running = run()
    time.pass(60_000)
    expect(await running).toMatchObject({ ended: 'limit', limit: 'time', why: 'the limit of 60000 ms was reached' })
  })

  it('stop when told to, though the call does not listen', async () => {
    const { run, abort } = rig(() => new Promise<never>(() => {}))
    const running = run(createClock())
    abort.abort()
    expect(await running).toEqual({ ended: 'aborted', why: 'it was stopped', text: '', turns: 0, calls: [] })
  })

  it('ask no model when it was told to stop before it began', async () => {
    const { run, abort, requests } = rig(forever)
    abort.abort()
    expect(await run()).toMatchObject({ ended: 'aborted' })
    expect(requests).toEqual([])
  })
})

describe('what a model must not send', () => {
  it.each([
    ['two calls with one id', [asks(use('a'), use('a'))], 'the model sent two tool calls with one id'],
    ['an id that was there before', [asks(use('a')), asks(use('a'))], 'the model sent two tool calls with one id'],
    ['a call without an id', [asks(use(''))], 'the model sent a tool call without a usable id'],
    ['an id that is none', [asks(use('a b\n'))], 'the model sent a tool call without a usable id'],
    ['no call where it says so', [asks(text('hm'))], 'the model asked for a tool and named none'],
    ['a refusal', [answer([], 'refusal')], 'the model refused'],
    ['a pause', [answer([text('…')], 'pause_turn')], 'the model paused its answer, which memoryd does not continue'],
    [
      'far too much',
      [asks(use('a', 'Write', { content: 'x'.repeat(4_000_000) }))],
      'the model sent more than can be used',
    ],
    [
      'a call nested beyond all depth',
      [asks(use('a', 'Read', { x: nested(20_000) }))],
      'the model sent something nested too deeply',
    ],
    [
      'a block of an unknown kind, nested beyond all depth',
      [answer([{ type: 'opaque', wire: { x: nested(20_000) } }])],
      'the model sent something nested too deeply',
    ],
  ])('ends it: %s', async (_what, answers, why) => {
    const { run, order } = rig((_request, _at, n) => answers[n - 1] ?? answer([text('on')]))
    expect(await run()).toMatchObject({ ended: 'failed', why })
    expect(order.filter((each) => each.startsWith('begin'))).toHaveLength(answers.length - 1)
  })

  it('is answered and not run beyond fifty calls at once', async () => {
    const many = Array.from({ length: 60 }, (_, n) => use(`t${n}`))
    const { run, requests, order } = rig((_request, _at, n) => (n === 1 ? asks(...many) : answer([text('ok')])))
    expect(await run()).toMatchObject({ ended: 'done' })
    expect(order.filter((each) => each.startsWith('begin'))).toHaveLength(50)
    expect(order.filter((each) => each === 'deny Read')).toHaveLength(10)
    expect(requests[1]?.messages.at(-1)?.content).toHaveLength(60)
  })

  it('and how a call failed is told, with what it cost', async () => {
    const failure: ModelFailure = {
      failed: 'rate-limit',
      message: 'slow down',
      retryAfterMs: 7_000,
      usage,
      permanent: false,
    }
    const { run } = rig(() => failure)
    expect(await run()).toEqual({ ended: 'failed', why: 'slow down', failure, text: '', turns: 0, calls: [usage] })
  })
})
