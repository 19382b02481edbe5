import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createAskingThread } from '../../daemon/models/asking.ts'
import { prepare, supportedSchema } from '../../daemon/models/wire.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { makeHome } from '../support/home.ts'
import { says } from '../support/messages-api/answers.ts'
import { startMessagesApi } from '../support/messages-api/start.ts'
import { accessTo, asItIs, hello } from './asking.ts'

const built = new URL('../../daemon/models/asking-thread.ts', import.meta.url)

async function rig(program: URL = built) {
  const thread = createAskingThread({ clock: createClock(), program })
  onTestFinished(thread.stop)
  const { params } = await prepare(hello, { redact: asItIs, supportedSchema, sentTools: new WeakMap() })
  const ask = (url: string, signal = new AbortController().signal, idleMs = 5_000) =>
    thread.send(params, { access: accessTo(url), idleMs, signal })
  return { thread, ask }
}

/** Ends as the text says, with the first thing that it is told. */
function threadThat(ends: string): URL {
  const file = join(makeHome().dir, 'thread.mjs')
  writeFileSync(file, `import { parentPort } from 'node:worker_threads'\nparentPort.once('message', () => { ${ends} })`)
  return pathToFileURL(file)
}

describe('the thread that asks models', () => {
  it('gives what was said, of several at once to each its own', async () => {
    const api = await startMessagesApi()
    const { ask } = await rig()
    api.next(says('One.'), says('Two.'))
    const answers = await Promise.all([ask(api.url), ask(api.url)])
    const texts = answers.map((answer) => 'content' in answer && answer.content)
    expect(texts).toEqual(expect.arrayContaining([[{ type: 'text', text: 'One.' }], [{ type: 'text', text: 'Two.' }]]))
  })

  it('hangs up when it is told to, and goes on with others', async () => {
    const api = await startMessagesApi()
    const { ask } = await rig()
    const abort = new AbortController()
    api.next({ fault: 'silent' }, says('Here.'))
    const hung = ask(api.url, abort.signal)
    await api.request(1)
    abort.abort()
    expect(await hung).toMatchObject({ failed: 'aborted' })
    expect(await ask(api.url)).toMatchObject({ stop: 'end_turn' })
  })

  it('sends nothing for whoever has gone before', async () => {
    const api = await startMessagesApi()
    const { ask } = await rig()
    expect(await ask(api.url, AbortSignal.abort())).toMatchObject({ failed: 'aborted', spent: 'nothing' })
    expect(api.requests).toEqual([])
  })

  it.each([
    ['breaks', 'throw new Error("out of order")', 'broke: out of order'],
    ['ends by itself', 'process.exit(0)', 'ended by itself'],
  ])('that %s fails what was under way, and the next call begins another', async (_, ends, why) => {
    const { ask } = await rig(threadThat(ends))
    for (let times = 0; times < 2; times++)
      expect(await ask('http://127.0.0.1:9')).toMatchObject({ failed: 'cut', message: expect.stringContaining(why) })
  })

  it('leaves nobody waiting when it is stopped', async () => {
    const api = await startMessagesApi()
    const { ask, thread } = await rig()
    api.next({ fault: 'silent' })
    const hung = ask(api.url)
    await api.request(1)
    thread.stop()
    expect(await hung).toMatchObject({ failed: 'cut', message: 'the daemon stops' })
  })
})
