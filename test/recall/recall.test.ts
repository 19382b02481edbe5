import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../daemon/models/wire.ts'
import { hashOf } from '../../daemon/platform/safe-folder.ts'
import { undoOf } from '../../daemon/recall/given.ts'
import { hasEnoughWords } from '../../daemon/recall/recall.ts'
import { RecallRequest } from '../../schema/recall.ts'
import { topic } from '../support/memory.ts'
import { ALNUM, chars } from '../support/secret-values.ts'
import { seeded } from '../support/seed.ts'
import { caller, recallRig, threeMemories } from './rig.ts'

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
    const { ask, put } = await threeMemories()
    expect(filesOf(await ask('all of auth', { sessionId: undefined }))).toEqual(['auth.md'])
    put('team/zebra.md', 'All of zebras.', 'zebra crossing')
    expect(await ask('zebra crossing', { sessionId: undefined })).toMatchObject({ skipped: 'none', memories: [] })
  })

  it('shows no credential whose letters only what cannot be seen kept apart', async () => {
    const { put, ask, cwd, memory } = await recallRig()
    const credential = chars(seeded('credential'), ALNUM, 36)
    const content = topic(`The token of the release is ghp_${credential.slice(0, 9)}\u200b${credential.slice(9)}.`)
    await memory.put(cwd, caller, { file: 'kept.md', content }, 'test')
    put('found.md', 'The token of the release, found.')
    const { text } = await ask('the token of the release')
    expect(text).toContain('The token of the release is')
    expect(text).not.toContain(credential)
  })

  it('knows after a restart what was searched for credentials when it came into the journal', async () => {
    const before = await recallRig()
    await before.memory.put(before.cwd, caller, { file: 'kept.md', content: topic('The release.') }, 'test')
    const { home, time } = before
    const { memory, dir, cwd } = await recallRig(undefined, { home, time })
    const { hash } = memory.reading.get(cwd, caller, 'kept.md')
    expect(memory.texts.isSearched(dir, 'kept.md', hash)).toBe(true)
  })

  it('searches for credentials once more what other patterns let into the journal', async () => {
    const before = await recallRig()
    const credential = chars(seeded('credential'), ALNUM, 36)
    before.put('release.md', `The token of the release is ghp_${credential}.`)
    const text = readFileSync(join(before.dir, 'release.md'), 'utf8')
    const change = { at: before.time.clock.now(), dir: before.dir, file: 'release.md', op: 'create' as const }
    const rest = { actor: 'external', reason: 'found', runId: undefined, undoable: false, evidence: [] }
    before.memory.journal.append([{ ...change, ...rest, before: undefined, after: { hash: hashOf(text), text } }])
    before.core.db.history.exec(`UPDATE marks SET name = 'searched 0' WHERE name LIKE 'searched %'`)
    const { home, time } = before
    const { ask } = await recallRig(undefined, { home, time })
    const { text: shown } = await ask('the token of the release')
    expect(shown).toContain('The token of the release is')
    expect(shown).not.toContain(credential)
  })

  it('skips what is too short, as other callers do not', async () => {
    const { hook, ask } = await threeMemories()
    expect(await hook('release')).toMatchObject({ skipped: 'short', memories: [] })
    expect(filesOf(await ask('release', { sessionId: undefined }))).toEqual(['release.md'])
  })

  it('never waits for a model: what it selects comes with the next prompt', async () => {
    let select = (_: string[]) => {}
    const coming = new Promise<string[]>((resolve) => {
      select = resolve
    })
    const { hook } = await threeMemories(() => coming)
    expect(filesOf(await hook('about the release'))).toEqual(['release.md'])
    select(['owls.md'])
    await coming
    await new Promise((resolve) => setImmediate(resolve))
    expect(filesOf(await hook('about the auth'))).toEqual(['owls.md', 'auth.md'])
  })

  it('ends a selection that a newer prompt has overtaken, and all with the daemon', async () => {
    const signals: AbortSignal[] = []
    const { hook, recall } = await threeMemories(async (_, signal) => {
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
    const { ask } = await threeMemories()
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask('about the release')))
    expect(answers.flatMap(filesOf)).toEqual(['release.md'])
    expect(Math.max(...answers.map(({ sessionBytes }) => sessionBytes))).toBe(answers[0]?.bytes)
  })

  it('writes down right after it what was given, and forgets what is purged', async () => {
    const { hook, time, core, recall } = await threeMemories()
    await hook('about the release')
    const rows = () => core.db.history.prepare('SELECT file, live FROM recalled').all()
    expect(rows()).toEqual([])
    time.pass(50)
    expect(rows()).toEqual([{ file: 'release.md', live: 1 }])
    recall.reset({ sessionId: 's', harness: 'generic' })
    expect(rows()).toEqual([{ file: 'release.md', live: 0 }])
    expect(filesOf(await hook('about the release'))).toEqual(['release.md'])
    const [{ path = '' } = {}] = recall.shown('s', undefined).items
    recall.forget({ dir: path.slice(0, path.lastIndexOf('/')), file: 'release.md' })
    expect(rows()).toEqual([])
    // A new memory of that name is another one.
    expect(filesOf(await hook('about the release'))).toEqual(['release.md'])
  })

  it('has no more than one answer of a session that is not on record', async () => {
    const { ask, core } = await threeMemories()
    await ask('about the release')
    await ask('about the auth', { sessionId: 'other' })
    await ask('about the auth')
    const files = core.db.history.prepare("SELECT file FROM recalled WHERE session = 's'").pluck().all()
    expect(files).toEqual(['release.md'])
  })

  it('has read all before it is asked, where it was told that a session begins', async () => {
    const { recall, counts, hook, cwd } = await threeMemories()
    recall.readAhead(cwd, caller)
    while (counts.read < 3) await turn()
    expect(filesOf(await hook('about the release'))).toEqual(['release.md'])
    expect(counts.read).toBe(3)
  })

  it('gives no more than there is room for', async () => {
    const { hook } = await threeMemories()
    const { bytes } = await hook('release notes', { sessionId: 'other' })
    expect(bytes).toBeGreaterThan(0)
    expect(await hook('release notes', { mostBytes: bytes - 1 })).toMatchObject({ skipped: 'budget', text: '' })
    expect(await hook('release notes', { mostBytes: bytes })).toMatchObject({ bytes })
  })

  it('gives again after a compaction what the session had last, and nothing to one that had nothing', async () => {
    const { hook, recall, cwd } = await threeMemories()
    const session = { sessionId: 's', harness: 'generic', cwd, mostBytes: 10_000 }
    expect(await recall.again(session, caller)).toMatchObject({ text: '' })
    const first = await hook('release notes')
    recall.reset(session)
    const again = await recall.again(session, caller)
    expect(filesOf(again)).toEqual(filesOf(first))
    expect(again.text).toContain('<memoryd-context>')
    expect(await hook('release notes')).toMatchObject({ text: '' })
  })
})

describe('a recall that takes its time', () => {
  it.each(['collected', 'waited for'])('gives nothing, %s, where memory was switched off meanwhile', async (how) => {
    const { selects, nth } = answering()
    const { recall, ask, pause, cwd } = await threeMemories(selects)
    const request = RecallRequest.parse({ cwd, query: 'about the release', sessionId: 's', mode: 'model' })
    const { ticket } = how === 'collected' ? recall.prefetch(request, caller) : { ticket: '' }
    const asking = how === 'collected' ? undefined : ask('about the release', { mode: 'model' })
    const { say } = await nth(1)
    pause()
    say(['release.md'])
    await turns()
    expect(await (asking ?? recall.collect(ticket))).toMatchObject({ skipped: 'off', memories: [], text: '' })
    expect(recall.shown('s', undefined).items).toEqual([])
  })

  it('never gives what the caller has read, though a model selected it for the last question', async () => {
    const { selects, nth } = answering()
    const { ask, time } = await threeMemories(selects)
    const asking = ask('about the release', { deadlineMs: 100 })
    const { say } = await nth(1)
    time.pass(100)
    expect(filesOf(await asking)).toEqual(['release.md'])
    say(['owls.md', 'auth.md'])
    await turns()
    expect(filesOf(await ask('something else', { mode: 'local', readFiles: ['owls.md'] }))).toEqual(['auth.md'])
  })

  it('is not ended by another of its session while a caller waits for it, and is when none does', async () => {
    const { selects, nth } = answering()
    const { ask, time, hook } = await threeMemories(selects)
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
    const { ask, time, recall } = await threeMemories(selects)
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
    const { ask, recall, time, core } = await threeMemories()
    const answer = await ask('about the release')
    await ask('about the auth')
    time.pass(laterMs)
    undoOf(answer)?.()
    time.pass(100)
    expect(core.db.history.prepare('SELECT file FROM recalled').pluck().all()).toEqual(['auth.md'])
    expect(recall.shown('s', undefined).items.map(({ file }) => file)).toEqual(['auth.md'])
    expect(filesOf(await ask('about the release'))).toEqual(['release.md'])
  })

  it('says of a long memory how long it is, and shows no half of what had to go', async () => {
    const { ask, put } = await recallRig()
    put('long.md', `Giraffe neck.\n${'word '.repeat(150_000)}`, 'Giraffe')
    const { text } = await ask('giraffe neck')
    expect(text).toMatch(/\[cut here, of \d+ lines, 750\d{3} bytes; the rest is in /)
    // All of this goes when it is cleaned as a whole, and only its beginning shows where it is cut.
    const lines = Array.from({ length: 900 }, (_, n) =>
      `MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC${n.toString(36)}x`.padEnd(64, 'Q'),
    )
    const [open, close] = ['BEGIN', 'END'].map((word) => `-----${word} PRIVATE KEY-----`)
    put('key.md', `Zebra key.\n${open}\n${lines.join('\n')}\n${close}\nend`, 'Zebra')
    expect((await ask('zebra key')).text).not.toContain('MIIEvQ')
  })
})
