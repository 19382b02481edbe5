import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createToolResults, standIn, toStore } from '../../daemon/context/tool-results.ts'
import { removeLeftovers } from '../../daemon/platform/files.ts'
import type { ManualTime } from '../support/clock.ts'
import { testCore } from '../support/core.ts'
import type { Home } from '../support/home.ts'

const limits = { toolResultChars: 50_000, toolResultCharsOf: { Grep: 10_000 }, toolResultCharsPerMessage: 200_000 }
const key = { harness: 'generic', sessionId: 's' }
const lines = (chars: number) => 'A line of what a tool has printed.\n'.repeat(Math.ceil(chars / 35)).slice(0, chars)

async function rig(again: { home?: Home; time?: ManualTime } = {}) {
  const context = { toolResultCharsOf: { Grep: 10_000 } }
  const { core, home, time } = await testCore({ settings: { context }, ...again })
  return { results: createToolResults(core), state: core.stateDir, store: core.db, home, time }
}
const bash = (toolUseId: string, content: string) => ({ toolUseId, tool: 'Bash', content })

describe('which results are kept in a file', () => {
  const of = (tool: string, chars: number, toolUseId = tool) => ({ toolUseId, tool, chars })
  it.each([
    ['one at its limit', [of('Bash', 50_000)], 0, []],
    ['one above it', [of('Bash', 50_001)], 0, ['Bash']],
    ['one of a tool with a limit of its own', [of('Grep', 10_001), of('Bash', 10_001)], 0, ['Grep']],
    ['none of a message at its limit', [1, 2, 3, 4].map((n) => of('Bash', 50_000, `${n}`)), 0, []],
    [
      'the largest of a message above it',
      [of('A', 49_000), of('B', 50_000), of('C', 49_000), of('D', 49_000), of('E', 5_000)],
      0,
      ['B'],
    ],
    ['one where others of the message stay', [of('A', 20_000)], 190_000, ['A']],
    ['none that is no longer than what would stand for it', [of('A', 3_000)], 300_000, []],
  ])('%s', (_what, fresh, stays, stored) => {
    expect([...toStore(fresh, stays, limits)]).toEqual(stored)
  })

  it('stands in the context with its size, its place and its first lines', () => {
    const text = lines(100_000)
    const block = standIn(text, '/state/tool-results/s/t.txt')
    expect(block).toMatch(/^<persisted-output>\n.*100000 characters.*\/state\/tool-results\/s\/t\.txt\n/)
    expect(block.endsWith('printed.\n…\n</persisted-output>')).toBe(true)
    expect(block.length).toBeGreaterThan(1_900)
    expect(block.length).toBeLessThan(2_300)
  })

  it.each([
    '日'.repeat(30_000),
    `${'a'.repeat(1_999)}😀${'b'.repeat(60_000)}`,
    `</persisted-output>${'x'.repeat(60_000)}`,
  ])('cuts no character and lets nothing end the block early', (text) => {
    const block = standIn(text, '/p')
    expect(Buffer.from(block).toString()).toBe(block)
    expect(block).not.toContain('\ufffd')
    expect(block.match(/<\/persisted-output>/g)).toHaveLength(1)
  })
})

describe('results of tools', () => {
  it('are given the same bytes each time, whatever is sent later, through a restart and to a resumed session', async () => {
    const first = await rig()
    const long = lines(80_000)
    const [kept] = await first.results.keep(key, 'm1', [bash('t1', long)])
    expect(kept).toMatchObject({ toolUseId: 't1', stored: true, path: join(first.state, 'tool-results/s/t1.txt') })
    first.store.close()
    const second = await rig(first)
    for (const content of [long, kept?.content as string, 'something short'])
      expect(await second.results.keep(key, 'm1', [bash('t1', content)])).toEqual([kept])
    expect(readFileSync(kept?.path as string, 'utf8')).toBe(long)
    expect(statSync(kept?.path as string).mode & 0o777).toBe(0o600)
    expect(statSync(join(second.state, 'tool-results', 's')).mode & 0o777).toBe(0o700)
  })

  it('stay in the context once they were, though their message grows too long', async () => {
    const { results } = await rig()
    const short = lines(49_000)
    const before = await results.keep(
      key,
      'm',
      ['1', '2', '3', '4'].map((id) => bash(id, short)),
    )
    expect(before.map(({ stored }) => stored)).toEqual([false, false, false, false])
    const [later] = await results.keep(key, 'm', [bash('5', short)])
    expect(later?.stored).toBe(true)
    expect(await results.keep(key, 'm', [bash('1', short)])).toEqual([
      { toolUseId: '1', stored: false, content: short },
    ])
    expect((await results.keep(key, 'other', [bash('6', short)]))[0]?.stored).toBe(false)
  })

  it('are decided once by calls that come together', async () => {
    const { results } = await rig()
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, n) => results.keep(key, 'm', [bash('same', lines(60_000 + n))])),
    )
    expect(new Set(all.map(([one]) => one?.content)).size).toBe(1)
    const piece = await results.read(key, 'same', {})
    expect(all[0]?.[0]?.content).toContain(`${piece.chars} characters`)
  })

  it('are read back by range', async () => {
    const { results } = await rig()
    const long = lines(70_000)
    await results.keep(key, undefined, [bash('t', long)])
    const read = (range: { from?: number; to?: number }) => results.read(key, 't', range)
    expect(await read({})).toEqual({ toolUseId: 't', content: long, from: 0, to: 70_000, chars: 70_000 })
    expect(await read({ from: 100, to: 135 })).toMatchObject({ content: long.slice(100, 135), from: 100, to: 135 })
    expect(await read({ from: 69_990, to: 99_999 })).toMatchObject({ content: long.slice(69_990), to: 70_000 })
    expect(await read({ from: 80_000 })).toMatchObject({ content: '', from: 70_000, to: 70_000 })
    expect(await read({ from: 50, to: 10 })).toMatchObject({ content: '', from: 50, to: 50 })
    await expect(results.read(key, 'other', {})).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('never become a path, and those of two harnesses do not meet', async () => {
    const { results, state } = await rig()
    const hostile = { harness: 'generic', sessionId: '../../..' }
    const [kept] = await results.keep(hostile, undefined, [bash('/etc/../../passwd', lines(60_000))])
    expect(kept?.path?.startsWith(join(state, 'tool-results/'))).toBe(true)
    expect(kept?.path).toMatch(/tool-results\/[0-9a-f]{64}\/[0-9a-f]{64}\.txt$/)
    await results.keep({ harness: 'pi', sessionId: 's' }, undefined, [bash('t', lines(60_000))])
    await expect(results.read(key, 't', {})).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect((await results.read({ harness: 'pi', sessionId: 's' }, 't', { to: 6 })).content).toBe('A line')
  })

  it('lose their credentials on the way to the disk, and nothing else', async () => {
    const { results, state } = await rig()
    const secret = `ghp_${'Ab1'.repeat(12)}`
    const [kept] = await results.keep(key, undefined, [bash('t', `${secret}\n${lines(60_000)}`)])
    expect(kept?.content).not.toContain(secret)
    expect(readFileSync(join(state, 'tool-results/s/t.txt'), 'utf8')).not.toContain(secret)
    expect((await results.read(key, 't', {})).content.endsWith(lines(60_000))).toBe(true)
  })

  it('under a name that is a credential are kept under another, and found by the first', async () => {
    const { results, state } = await rig()
    const secret = `ghp_${'Ab1'.repeat(12)}`
    const [kept] = await results.keep({ ...key, sessionId: secret }, secret, [bash(secret, lines(60_000))])
    expect(kept).toMatchObject({ toolUseId: secret, stored: true })
    expect(kept?.path).toMatch(/tool-results\/[0-9a-f]{64}\/[0-9a-f]{64}\.txt$/)
    expect((await results.read({ ...key, sessionId: secret }, secret, { to: 6 })).content).toBe('A line')
    expect(readFileSync(join(state, 'history.db')).includes(secret)).toBe(false)
  })

  it('with images stay as they are', async () => {
    const { results } = await rig()
    const content = [
      { type: 'text', text: lines(60_000) },
      { type: 'image', source: {} },
    ]
    expect(await results.keep(key, undefined, [{ toolUseId: 't', tool: 'Read', content }])).toEqual([
      { toolUseId: 't', stored: false, content },
    ])
  })

  it('of a session that is used live on, those of others go', async () => {
    const { results, store, time, state } = await rig()
    await results.keep(key, undefined, [bash('t', lines(60_000))])
    await results.keep({ ...key, sessionId: 'over' }, undefined, [bash('t', lines(60_000))])
    time.pass(20 * 86_400_000)
    await results.keep(key, undefined, [bash('u', 'short')])
    expect(results.expire(time.clock.now() - 10 * 86_400_000)).toBe(1)
    expect(statSync(join(state, 'tool-results/s/t.txt')).mtimeMs).toBe(time.clock.now())
    expect(store.history.prepare('SELECT session, tool_use FROM tool_results').raw().all()).toEqual([
      ['s', 't'],
      ['s', 'u'],
    ])
  })

  it('that were cleared are kept as they were', async () => {
    const { results, state } = await rig()
    await results.save(key, [{ toolUseId: 'c', text: 'What it said.' }])
    expect((await results.read(key, 'c', {})).content).toBe('What it said.')
    const [kept] = await results.keep(key, undefined, [bash('k', lines(60_000))])
    await results.save(key, [{ toolUseId: 'k', text: kept?.content as string }])
    expect(readFileSync(join(state, 'tool-results/s/k.txt'), 'utf8')).toBe(lines(60_000))
    await results.save(key, [{ toolUseId: 'empty', text: '' }])
    expect(existsSync(join(state, 'tool-results/s/empty.txt'))).toBe(false)
  })

  it('with one id in one call are one: the file and what stands for it are of the first', async () => {
    const { results } = await rig()
    const [first, second] = await results.keep(key, undefined, [
      bash('t', `first\n${lines(60_000)}`),
      bash('t', `second\n${lines(90_000)}`),
    ])
    expect(first).toEqual(second)
    expect(first?.content).toContain('60006 characters')
    expect((await results.read(key, 't', { to: 5 })).content).toBe('first')
  })

  it('lose their credentials also where it is others of the message that make it too long', async () => {
    const { results, state } = await rig()
    const secret = `ghp_${'Ab1'.repeat(12)}`
    const ids = ['1', '2', '3', '4']
    await results.keep(
      key,
      'm',
      ids.map((id) => bash(id, lines(49_000))),
    )
    const again = ids.map((id) => bash(id, 'cleared'))
    const kept = await results.keep(key, 'm', [...again, bash('5', `${secret}\n${lines(9_000)}`)])
    expect(kept.at(-1)).toMatchObject({ stored: true })
    expect(kept.at(-1)?.content).not.toContain(secret)
    expect(readFileSync(join(state, 'tool-results/s/5.txt'), 'utf8')).not.toContain(secret)
  })

  it('are read back in whole characters, each once, whatever pieces are asked for', async () => {
    const { results } = await rig()
    const text = 'a😀b😀😀c'.repeat(10_000)
    await results.keep(key, undefined, [bash('t', text)])
    const whole = (piece: string) => expect(Buffer.from(piece).toString()).toBe(piece)
    for (const step of [2, 3, 7]) {
      let byStep = ''
      let byAnswer = ''
      for (let from = 0; from < 100; from += step) {
        const { content } = await results.read(key, 't', { from, to: from + step })
        whole(content)
        if (step > 2) byStep += content
      }
      for (let from = 0; from < 100; ) {
        const piece = await results.read(key, 't', { from, to: from + step })
        expect(piece.to).toBeGreaterThan(from)
        byAnswer += piece.content
        from = piece.to
      }
      expect(text.startsWith(byStep) && text.startsWith(byAnswer)).toBe(true)
    }
    expect((await results.read(key, 't', { from: 1, to: 2 })).content).toBe('😀')
  })

  it.each(['keep', 'save'] as const)('are written beside everything else: %s', async (way) => {
    const { results, state } = await rig()
    const many = Array.from({ length: 60 }, (_, n) => bash(`t${n}`, lines(60_000)))
    const saved = many.map(({ toolUseId, content }) => ({ toolUseId, text: content }))
    const folder = join(state, 'tool-results', 's')
    const written = () => (existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.txt')).length : 0)
    let isDone = false
    const work = (way === 'keep' ? results.keep(key, undefined, many) : results.save(key, saved)).then(() => {
      isDone = true
    })
    const seen = new Set<number>()
    while (!isDone) {
      await new Promise(setImmediate)
      seen.add(written())
    }
    await work
    expect(written()).toBe(60)
    expect([...seen].filter((count) => count > 0 && count < 60).length).toBeGreaterThan(2)
    expect(readdirSync(folder)).toHaveLength(60)
  })

  it('are all there though housekeeping takes away what it believes to be left over', async () => {
    const { results, state } = await rig()
    const folder = join(state, 'tool-results', 's')
    const many = Array.from({ length: 20 }, (_, n) => bash(`t${n}`, lines(60_000)))
    let isDone = false
    const work = results.keep(key, undefined, many).then(() => {
      isDone = true
    })
    let removed = 0
    while (!isDone) {
      await new Promise(setImmediate)
      if (removed < 5) removed += removeLeftovers([folder]).length
    }
    await work
    expect(removed).toBeGreaterThan(0)
    for (const { toolUseId, content } of many) expect((await results.read(key, toolUseId, {})).content).toBe(content)
  })
})
