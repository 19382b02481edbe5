import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { memoryPrompt } from '../../daemon/memory/prompt-text.ts'
import { agent, memoryRig, type Rig } from '../support/memory.ts'

const DAY_MS = 86_400_000
const session = { harness: 'generic', sessionId: 's1' }
const GUIDELINES = 'CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES'
const KEY = `ghp_${'A1b2C3d4E5f6'.repeat(3)}`

function writeIndex({ dir }: Pick<Rig, 'dir'>, text: string, file = 'MEMORY.md'): void {
  mkdirSync(join(dir, 'team'), { recursive: true })
  writeFileSync(join(dir, file), text)
}

async function ask(rig: Pick<Rig, 'memory' | 'cwd'>, name = session, env = {}) {
  return (await rig.memory.prompting.prompt(rig.cwd, { ...agent, env }, name)).text
}

const kept = ({ store }: Pick<Rig, 'store'>) => store.history.prepare('SELECT session FROM prompts').pluck().all()

describe('the prompt without a session', () => {
  it('follows the index', async () => {
    const rig = await memoryRig()
    const without = () => rig.memory.prompting.prompt(rig.cwd, agent, undefined)
    expect(await without()).toEqual({ text: memoryPrompt({ dir: rig.dir, index: '' }) })
    writeIndex(rig, '- [One](one.md) — first\n')
    expect(await without()).toEqual({ text: memoryPrompt({ dir: rig.dir, index: '- [One](one.md) — first\n' }) })
    expect(kept(rig)).toEqual([])
  })

  it('makes the directory that it says exists', async () => {
    const rig = await memoryRig()
    expect(existsSync(rig.dir)).toBe(false)
    await rig.memory.prompting.prompt(rig.cwd, agent, undefined)
    expect(existsSync(rig.dir)).toBe(true)
  })

  it('shows an index that is too long up to its limits', async () => {
    const rig = await memoryRig()
    writeIndex(rig, '- [One](one.md) — line\n'.repeat(300))
    const { text } = await rig.memory.prompting.prompt(rig.cwd, agent, undefined)
    expect(text.match(/- \[One\]/g)).toHaveLength(200)
    expect(text).toContain('it has 300 lines, 100 more than the 200 that are loaded')
  })

  it("brings the team's index only where team memory is on", async () => {
    const on = await memoryRig({ team: true })
    const off = await memoryRig()
    for (const rig of [on, off]) writeIndex(rig, '- [Ours](ours.md) — shared\n', 'team/MEMORY.md')
    expect(await ask(on)).toBe(memoryPrompt({ dir: on.dir, index: '', team: '- [Ours](ours.md) — shared\n' }))
    expect(await ask(off)).toBe(memoryPrompt({ dir: off.dir, index: '' }))
    rmSync(join(on.dir, 'team', 'MEMORY.md'))
    expect(await ask(on, { ...session, sessionId: 's2' })).toBe(memoryPrompt({ dir: on.dir, index: '', team: '' }))
  })

  it('refuses an index that leads elsewhere', async () => {
    const rig = await memoryRig()
    writeFileSync(join(rig.home, 'private'), 'mine')
    mkdirSync(rig.dir, { recursive: true })
    symlinkSync(join(rig.home, 'private'), join(rig.dir, 'MEMORY.md'))
    await expect(ask(rig)).rejects.toMatchObject({ code: 'REFUSED', reason: 'path' })
  })

  it('never shows a credential, not even half of one', async () => {
    const rig = await memoryRig({ team: true })
    const cut = `- ${'x '.repeat(12_494)}${KEY}`
    for (const [n, index] of [`- [Key](key.md) — ${KEY}\n`, cut].entries()) {
      writeIndex(rig, index)
      writeIndex(rig, index, 'team/MEMORY.md')
      const text = await ask(rig, { ...session, sessionId: `s${n}` }, { [GUIDELINES]: `Use ${KEY}.` })
      expect(text).toContain('## team/MEMORY.md')
      expect(text).not.toContain(KEY.slice(0, 8))
    }
  })
})

describe('the prompt of a session', () => {
  it('stays the same whatever happens to index, team, guidelines, date and directory', async () => {
    const rig = await memoryRig({ team: true })
    writeIndex(rig, '- [One](one.md) — first\n')
    const first = await ask(rig, session, { [GUIDELINES]: 'Be brief.' })
    expect(first).toContain('Be brief.')
    writeIndex(rig, '- [Two](two.md) — second\n')
    writeIndex(rig, '- [Ours](ours.md) — shared\n', 'team/MEMORY.md')
    expect(await ask(rig)).toBe(first)
    expect(await ask(rig, session, { [GUIDELINES]: 'Be verbose.' })).toBe(first)
    rig.time.pass(DAY_MS)
    expect(await ask(rig)).toBe(first)
    rmSync(rig.dir, { recursive: true })
    expect(await ask(rig)).toBe(first)
    expect(existsSync(rig.dir)).toBe(true)
    rmSync(rig.dir, { recursive: true })
    writeFileSync(rig.dir, 'a file in its place')
    expect(await ask(rig)).toBe(first)
  })

  it('is the same after a restart', async () => {
    const rig = await memoryRig()
    const first = await ask(rig)
    rig.store.close()
    const again = { ...rig, ...(await rig.open()) }
    writeIndex(rig, '- [Two](two.md) — second\n')
    expect(await ask(again)).toBe(first)
  })

  it('is the same for two that ask for the first time at once', async () => {
    const rig = await memoryRig()
    writeIndex(rig, '- [One](one.md) — first\n')
    const one = ask(rig)
    writeIndex(rig, '- [Two](two.md) — second\n')
    const [first, second] = await Promise.all([one, ask(rig)])
    expect(second).toBe(first)
    expect(await ask(rig)).toBe(first)
  })

  it('is its own: not that of another session, harness or project', async () => {
    const rig = await memoryRig()
    const other = join(rig.home, 'other')
    const first = await ask(rig)
    writeIndex(rig, '- [Two](two.md) — second\n')
    expect(await ask(rig, { ...session, sessionId: 's2' })).not.toBe(first)
    expect(await ask(rig, { ...session, harness: 'pi' })).not.toBe(first)
    const elsewhere = await ask({ ...rig, cwd: other })
    expect(elsewhere).not.toContain(rig.dir)
    expect([await ask(rig), await ask({ ...rig, cwd: other })]).toEqual([first, elsewhere])
  })

  it('is made anew, in every directory, after the session was renewed, and no other is', async () => {
    const rig = await memoryRig()
    const there = { ...rig, cwd: join(rig.home, 'other'), dir: rig.dirOf(join(rig.home, 'other')) }
    const two = { ...session, sessionId: 's2' }
    const pi = { ...session, harness: 'pi' }
    const before = [await ask(rig), await ask(there), await ask(rig, two), await ask(rig, pi)]
    for (const place of [rig, there]) writeIndex(place, '- [Two](two.md) — second\n')
    rig.memory.prompting.renew(session)
    const after = [await ask(rig), await ask(there), await ask(rig, two), await ask(rig, pi)]
    expect(after.map((text, at) => text === before[at])).toEqual([false, false, true, true])
    expect(after[0]).toBe(memoryPrompt({ dir: rig.dir, index: '- [Two](two.md) — second\n' }))
    expect(await ask(rig)).toBe(after[0])
  })

  it('is not left with an old text when the session is renewed while it is being made', async () => {
    const rig = await memoryRig()
    writeIndex(rig, '- [One](one.md) — first\n')
    const asked = ask(rig)
    writeIndex(rig, '- [Two](two.md) — second\n')
    rig.memory.prompting.renew(session)
    await asked
    expect(await ask(rig)).toContain('two.md')
  })

  it('is kept under a hash where the id is no name, and hostile ids stay apart', async () => {
    const rig = await memoryRig()
    const ids = ['..', '...', '../../etc', 'a/b', "'; DROP TABLE prompts; --", 'x'.repeat(129), 'ü', 'a\nb']
    for (const [n, sessionId] of ids.entries()) {
      writeIndex(rig, `- [N](n${n}.md) — n\n`)
      await ask(rig, { ...session, sessionId })
    }
    for (const [n, sessionId] of ids.entries())
      expect(await ask(rig, { ...session, sessionId })).toContain(`(n${n}.md)`)
    expect(kept(rig)).toHaveLength(ids.length)
    for (const name of kept(rig)) expect(name).toMatch(/^[0-9a-f]{64}$/)
  })

  it('is empty while memory is off, and the same as before when it is on again', async () => {
    const rig = await memoryRig()
    const first = await ask(rig)
    const off = { ...agent, env: { CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1' } }
    const empty = { text: '', skipped: 'off' }
    expect(await rig.memory.prompting.prompt(rig.cwd, off, session)).toEqual(empty)
    expect(await rig.memory.prompting.prompt(rig.cwd, off, { ...session, sessionId: 'new' })).toEqual(empty)
    expect(await ask(rig)).toBe(first)
    expect(await ask(rig, { ...session, sessionId: 'new' })).toBe(first)
  })

  it('is dropped when no caller has asked for it for thirty days, and not while one does', async () => {
    const rig = await memoryRig()
    await ask(rig, { ...session, sessionId: 'idle' })
    await ask(rig, { ...session, sessionId: 'alive' })
    for (let day = 0; day < 3; day++) {
      rig.time.pass(11 * DAY_MS)
      await ask(rig, { ...session, sessionId: 'alive' })
    }
    await ask(rig, { ...session, sessionId: 'new' })
    expect(kept(rig).sort()).toEqual(['alive', 'new'])
  })

  it('is written down once a day at most, however often it is asked for', async () => {
    const rig = await memoryRig()
    const at = () => rig.store.history.prepare('SELECT at FROM prompts').pluck().get()
    await ask(rig)
    const first = at()
    rig.time.pass(DAY_MS)
    await ask(rig)
    expect(at()).toBe(first)
    rig.time.pass(1)
    await ask(rig)
    expect(at()).toBe(rig.time.clock.now())
  })
})

describe('a disk that takes no writes', () => {
  it('costs a prompt its being kept, not its being answered', async () => {
    const rig = await memoryRig()
    const db = rig.store.history
    let failure: Error | undefined
    db.function('fail', () => {
      if (failure) throw failure
      return 1
    })
    for (const write of ['INSERT', 'UPDATE'])
      db.exec(`CREATE TEMP TRIGGER no_${write} BEFORE ${write} ON main.prompts BEGIN SELECT fail(); END`)
    failure = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
    const text = memoryPrompt({ dir: rig.dir, index: '' })
    expect([await ask(rig), kept(rig), rig.health.list()]).toEqual([
      text,
      [],
      [expect.objectContaining({ code: 'disk' })],
    ])
    failure = undefined
    await ask(rig)
    rig.time.pass(2 * DAY_MS)
    failure = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR' })
    writeIndex(rig, '- [Two](two.md) — second\n')
    expect(await ask(rig)).toBe(text)
    failure = new Error('a bug')
    await expect(ask(rig, { ...session, sessionId: 's3' })).rejects.toThrow('a bug')
  })
})
