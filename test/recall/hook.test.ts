import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openDatabases } from '../../daemon/db/databases.ts'
import { listTexts, readTexts, stampIn } from '../../daemon/memory/catalogue.ts'
import type { ModelAnswer, ModelRequest } from '../../daemon/models/provider.ts'
import { undoOf } from '../../daemon/platform/if-lost.ts'
import { createVigils } from '../../daemon/platform/vigil.ts'
import { createRecalledRows } from '../../daemon/recall/given.ts'
import { createRecall, hasEnoughWords } from '../../daemon/recall/recall.ts'
import { RecallRequest } from '../../schema/recall.ts'
import { manualTime } from '../support/clock.ts'
import { makeHome } from '../support/home.ts'
import { topic } from '../support/memory.ts'

const caller = { actor: 'agent:hook', env: {} }
const answered: Omit<ModelAnswer, 'output'> = {
  content: [],
  stop: 'end_turn',
  usage: { input: 1, cacheRead: 0, cacheWrite: 0, output: 1 },
  requestId: undefined,
  latencyMs: 1,
}

/** Recall over a real directory and a real store; what a model says is up to the test. */
function rig(selects?: (request: ModelRequest, signal: AbortSignal) => Promise<string[]>) {
  const place: { off?: string } = {}
  const cleaned: number[] = []
  const counts = { read: 0 }
  const { dir: home } = makeHome()
  const dir = join(home, 'memory')
  mkdirSync(dir)
  for (const name of ['auth', 'release', 'owls']) writeFileSync(join(dir, `${name}.md`), topic(`All of ${name}.`, name))
  const time = manualTime()
  const store = openDatabases(join(home, 'state'), time.clock.now())
  const vigils = createVigils({ clock: time.clock })
  const recall = createRecall({
    texts: {
      list: listTexts,
      read: (at, files) => {
        counts.read += files.length
        return readTexts(at, files, time.clock.now())
      },
      known: () => [],
      stamp: stampIn,
      rejections: () => '',
      isRejected: () => false,
    },
    rows: createRecalledRows(store.history),
    vigils,
    driftOf: () => [],
    redact: async (text) => {
      cleaned.push(text.length)
      return { text: text.replace(/S{100,}E/g, '[gone]').replace(/S{30000,}/g, (half) => half.slice(-2_000)) }
    },
    find: async () => {
      await vigils.settled()
      return { dir, root: home, off: place.off }
    },
    model: {
      isReady: () => selects !== undefined,
      provider: () => ({
        call: async (request, { signal }) => ({
          ...answered,
          output: { selected_memories: (await selects?.(request, signal)) ?? [] },
        }),
      }),
    },
    settings: () => ({
      enabled: true,
      k: 5,
      deadlineMs: 1_200,
      hookDeadlineMs: 250,
      sessionBytes: 60_000,
      model: 'm',
      teamEnabled: false,
    }),
    clock: time.clock,
    onError: (error) => {
      throw error
    },
  })
  onTestFinished(() => {
    recall.stop()
    vigils.stop()
    store.close()
  })
  const hook = (query: string, more: object = {}) =>
    recall.hook(RecallRequest.parse({ cwd: home, query, sessionId: 's', ...more }), caller)
  const ask = (query: string, more: object = {}) =>
    recall.recall(RecallRequest.parse({ cwd: home, query, sessionId: 's', ...more }), {
      caller,
      signal: new AbortController().signal,
    })
  return { recall, hook, ask, time, store, place, dir, cleaned, counts }
}

/** A model whose answers a test gives, one after the other. */
function answering() {
  const asked: { say: (files: string[]) => void; signal: AbortSignal }[] = []
  const selects = (_: ModelRequest, signal: AbortSignal) =>
    new Promise<string[]>((say) => {
      asked.push({ say, signal })
    })
  const nth = async (n: number) => {
    while (asked.length < n) await turn()
    return asked[n - 1] as (typeof asked)[number]
  }
  return { selects, nth }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))
const turns = async (count = 5) => {
  for (let n = 0; n < count; n++) await turn()
}

const filesOf = ({ memories }: { memories: { file: string }[] }) => memories.map(({ file }) => file)

describe('recall for a prompt hook', () => {
  it.each([
    ['one word', 'release', false],
    ['one word with signs', '  release?! ', false],
    ['nothing', '', false],
    ['two words', 'release notes', true],
    ['one Chinese word', '发布', false],
    ['a Chinese sentence', '今天可以发布吗', true],
  ])('counts %s as people do', (_, text, enough) => {
    expect(hasEnoughWords(text)).toBe(enough)
  })

  it('gives nothing of a team where there is none, nor of a folder of one that came since', async () => {
    const { ask, dir, recall } = rig()
    expect(filesOf(await ask('all of auth', { sessionId: undefined }))).toEqual(['auth.md'])
    mkdirSync(join(dir, 'team'))
    writeFileSync(join(dir, 'team/zebra.md'), topic('All of zebras.', 'zebra crossing'))
    recall.changed(dir, ['team/zebra.md'])
    expect(await ask('zebra crossing', { sessionId: undefined })).toMatchObject({ skipped: 'none', memories: [] })
  })

  it('skips what is too short, as other callers do not', async () => {
    const { hook, recall } = rig()
    expect(await hook('release')).toMatchObject({ skipped: 'short', memories: [] })
    const request = RecallRequest.parse({ cwd: '/', query: 'release' })
    expect(filesOf(await recall.recall(request, { caller, signal: new AbortController().signal }))).toEqual([
      'release.md',
    ])
  })

  it('never waits for a model: what it selects comes with the next prompt', async () => {
    let select = (_: string[]) => {}
    const coming = new Promise<string[]>((resolve) => {
      select = resolve
    })
    const { hook } = rig(() => coming)
    expect(filesOf(await hook('about the release'))).toEqual(['release.md'])
    select(['owls.md'])
    await coming
    await new Promise((resolve) => setImmediate(resolve))
    expect(filesOf(await hook('about the auth'))).toEqual(['owls.md', 'auth.md'])
  })

  it('ends a selection that a newer prompt has overtaken, and all with the daemon', async () => {
    const signals: AbortSignal[] = []
    const { hook, recall } = rig(async (_, signal) => {
      signals.push(signal)
      return new Promise(() => {})
    })
    await hook('about the release')
    while (signals.length < 1) await new Promise((resolve) => setImmediate(resolve))
    await hook('about the auth')
    while (signals.length < 2) await new Promise((resolve) => setImmediate(resolve))
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
    recall.stop()
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
  })

  it('never gives one memory to a session twice, nor more than it may have, to questions that come at once', async () => {
    const { recall } = rig()
    const request = RecallRequest.parse({ cwd: '/', query: 'about the release', sessionId: 's' })
    const at = { caller, signal: new AbortController().signal }
    const answers = await Promise.all(Array.from({ length: 5 }, () => recall.recall(request, at)))
    expect(answers.flatMap(filesOf)).toEqual(['release.md'])
    expect(Math.max(...answers.map(({ sessionBytes }) => sessionBytes))).toBe(answers[0]?.bytes)
  })

  it('writes down right after it what was given, and forgets what is purged', async () => {
    const { hook, time, store, recall } = rig()
    await hook('about the release')
    const rows = () => store.history.prepare('SELECT file, live FROM recalled').all()
    expect(rows()).toEqual([])
    time.pass(50)
    expect(rows()).toEqual([{ file: 'release.md', live: 1 }])
    recall.reset({ sessionId: 's', harness: 'generic' })
    expect(rows()).toEqual([{ file: 'release.md', live: 0 }])
    expect(filesOf(await hook('about the release'))).toEqual(['release.md'])
    const [{ path = '' } = {}] = recall.given('s', undefined).items
    recall.forget({ dir: path.slice(0, path.lastIndexOf('/')), file: 'release.md' })
    expect(rows()).toEqual([])
  })

  it('has no more than one answer of a session that is not on record', async () => {
    const { ask, store } = rig()
    await ask('about the release')
    await ask('about the auth', { sessionId: 'other' })
    await ask('about the auth')
    const files = store.history.prepare("SELECT file FROM recalled WHERE session = 's'").pluck().all()
    expect(files).toEqual(['release.md'])
  })

  it('has read all before it is asked, where it was told that a session begins', async () => {
    const { recall, counts, hook } = rig()
    recall.readAhead('/', caller)
    while (counts.read < 3) await turn()
    expect(filesOf(await hook('about the release'))).toEqual(['release.md'])
    expect(counts.read).toBe(4)
  })

  it('gives no more than there is room for', async () => {
    const { hook } = rig()
    const { bytes } = await hook('release notes', { sessionId: 'other' })
    expect(bytes).toBeGreaterThan(0)
    const { recall } = rig()
    const request = RecallRequest.parse({ cwd: '/', query: 'release notes', sessionId: 's' })
    expect(await recall.hook(request, caller, bytes - 1)).toMatchObject({ skipped: 'budget', text: '' })
    expect(await recall.hook(request, caller, bytes)).toMatchObject({ bytes })
  })

  it('gives again after a compaction what the session had last, and nothing to one that had nothing', async () => {
    const { hook, recall } = rig()
    const session = { sessionId: 's', harness: 'generic', cwd: '/' }
    expect(await recall.again(session, caller, 10_000)).toMatchObject({ text: '' })
    const first = await hook('release notes')
    recall.reset(session)
    const again = await recall.again(session, caller, 10_000)
    expect(filesOf(again)).toEqual(filesOf(first))
    expect(again.text).toContain('<memoryd-context>')
    expect(await hook('release notes')).toMatchObject({ text: '' })
  })
})

describe('a recall that takes its time', () => {
  it.each(['collected', 'waited for'])('gives nothing, %s, where memory was switched off meanwhile', async (how) => {
    const { selects, nth } = answering()
    const { recall, ask, place } = rig(selects)
    const request = RecallRequest.parse({ cwd: '/', query: 'about the release', sessionId: 's', mode: 'model' })
    const { ticket } = how === 'collected' ? recall.tickets.begin(request, caller) : { ticket: '' }
    const asking = how === 'collected' ? undefined : ask('about the release', { mode: 'model' })
    const { say } = await nth(1)
    place.off = 'paused'
    say(['release.md'])
    await turns()
    expect(await (asking ?? recall.tickets.collect(ticket))).toMatchObject({ skipped: 'off', memories: [], text: '' })
    expect(recall.given('s', undefined).items).toEqual([])
  })

  it('never gives what the caller has read, though a model selected it for the last question', async () => {
    const { selects, nth } = answering()
    const { ask, time } = rig(selects)
    const asking = ask('about the release', { deadlineMs: 100 })
    const { say } = await nth(1)
    time.pass(100)
    expect(filesOf(await asking)).toEqual(['release.md'])
    say(['owls.md', 'auth.md'])
    await turns()
    expect(filesOf(await ask('something else', { mode: 'local', readFiles: ['owls.md'] }))).toEqual(['auth.md'])
  })

  it('is not ended by another of its session while somebody waits for it, and is when nobody does', async () => {
    const { selects, nth } = answering()
    const { ask, time, hook } = rig(selects)
    const first = ask('about the release', { mode: 'model' })
    const second = ask('about the auth', { mode: 'model' })
    const [one, two] = [await nth(1), await nth(2)]
    await hook('about the owls')
    expect([one.signal.aborted, two.signal.aborted]).toEqual([false, false])
    one.say(['release.md'])
    expect(await first).toMatchObject({ mode: 'model', memories: [{ file: 'release.md' }] })
    time.pass(20_000)
    expect(await second).toMatchObject({ mode: 'local' })
    expect(two.signal.aborted).toBe(false)
    await hook('about the auth')
    expect(two.signal.aborted).toBe(true)
  })

  it('keeps nothing for a session that was cleared while it was waited for', async () => {
    const { selects, nth } = answering()
    const { ask, time, recall } = rig(selects)
    const asking = ask('about the release', { deadlineMs: 100 })
    const { say } = await nth(1)
    recall.reset({ sessionId: 's', harness: 'generic' })
    time.pass(100)
    await asking
    say(['owls.md'])
    await turns()
    expect(filesOf(await ask('about the auth', { mode: 'local' }))).toEqual(['auth.md'])
  })

  it.each([0, 100])('gives again what did not reach the session, %d ms later', async (laterMs) => {
    const { ask, recall, time, store } = rig()
    const answer = await ask('about the release')
    await ask('about the auth')
    time.pass(laterMs)
    undoOf(answer)?.()
    time.pass(100)
    expect(store.history.prepare('SELECT file FROM recalled').pluck().all()).toEqual(['auth.md'])
    expect(recall.given('s', undefined).items.map(({ file }) => file)).toEqual(['auth.md'])
    expect(filesOf(await ask('about the release'))).toEqual(['release.md'])
  })

  it('looks at little more of a long memory than it shows, and shows no half of what had to go', async () => {
    const { ask, dir, cleaned } = rig()
    writeFileSync(join(dir, 'long.md'), topic(`Giraffe neck.\n${'word '.repeat(150_000)}`, 'Giraffe'))
    const { text } = await ask('giraffe neck')
    expect(text).toMatch(/\[cut here, of \d+ lines, 750\d{3} bytes; the rest is in /)
    expect(Math.max(...cleaned)).toBeLessThan(40_000)
    // All of this goes when it is cleaned as a whole, and only its beginning shows where it is cut.
    writeFileSync(join(dir, 'key.md'), topic(`Zebra key.\n${'S'.repeat(60_000)}E\nend`, 'Zebra'))
    expect((await ask('zebra key')).text).not.toContain('SSS')
  })
})
