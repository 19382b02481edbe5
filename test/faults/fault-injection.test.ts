import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, type TestContext } from 'vitest'
import { type FaultRule, startWithFaults } from '../support/faults.ts'
import { makeHome } from '../support/home.ts'
import { topic } from '../support/memory.ts'

async function ground(context: TestContext) {
  const home = makeHome()
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const daemon = await startWithFaults(context, home)
  const put = (file: string) => daemon.client.putMemory({ cwd, file, content: topic('One.') })
  await put('a.md')
  return { ...daemon, cwd, put }
}

describe('a fault of a file call', () => {
  const rules: [string, FaultRule, string][] = [
    ['a new file', { calls: 'open-write', within: '/memory/', ends: '.tmp', error: 'EIO' }, 'open-write EIO'],
    ['its content', { calls: 'write', within: '/memory/', ends: '.tmp', error: 'ENOSPC' }, 'write ENOSPC'],
    ['its sync', { calls: 'sync', within: '/memory/', ends: '.tmp', error: 'EIO' }, 'sync EIO'],
    ['its name', { calls: ['link', 'rename'], ends: '/file-3.md', error: 'EROFS' }, 'link EROFS'],
    ['its folder', { calls: 'sync', ends: '/memory', error: 'EIO' }, 'sync EIO'],
    ['the index', { calls: 'rename', ends: '/MEMORY.md', error: 'EIO' }, 'rename EIO'],
    ['the journal', { calls: 'write', ends: '/history.db-wal', error: 'ENOSPC' }, 'write ENOSPC'],
    ['the sync of the journal', { calls: 'sync', ends: '/history.db-wal', error: 'EIO' }, 'sync EIO'],
  ]

  it('meets a file, its content, its sync, its name, the index or the journal until it is healed, and is counted', async (context) => {
    const { fail, failed: failures, put } = await ground(context)
    for (const [n, [what, rule, failed]] of rules.entries()) {
      const before = failures().length
      const fault = fail({ ...rule, times: 'lasting' })
      await expect(put(`file-${n}.md`), what).rejects.toMatchObject({ code: 'DEGRADED' })
      expect([fault.hits() > 0, failures()[before]], what).toEqual([true, expect.stringContaining(failed)])
      fault.heal()
      const counts = [fault.seen(), fault.hits()]
      await put(`file-${n}.md`)
      expect([fault.seen(), fault.hits()], what).toEqual(counts)
    }
  })

  it('is one by default', async (context) => {
    const { fail, put } = await ground(context)
    const fault = fail({ calls: 'rename', within: '/memory/', error: 'EIO' })
    await expect(put('a.md')).rejects.toMatchObject({ code: 'DEGRADED' })
    await put('a.md')
    expect([fault.hits(), fault.seen() > 1]).toEqual([1, true])
  })

  it('lasts until it is healed, and spares the calls before it', async (context) => {
    const { fail, heal, put } = await ground(context)
    const fault = fail({
      calls: 'write',
      within: '/memory/',
      ends: '.tmp',
      error: 'ENOSPC',
      first: 3,
      times: 'lasting',
    })
    // The memory and its index.
    await put('b.md')
    for (let n = 0; n < 3; n++) await expect(put('c.md')).rejects.toMatchObject({ code: 'DEGRADED' })
    heal()
    await put('c.md')
    expect(fault.hits()).toBeGreaterThanOrEqual(3)
  })

  it('may be the end of the process, in the midst of a change that the next one finishes', async (context) => {
    const { start, fail, heal, put, cwd, exited } = await ground(context)
    fail({ calls: 'rename', ends: '/MEMORY.md', error: 'kill' })
    await expect(put('b.md')).rejects.toMatchObject({ code: 'UNREACHABLE' })
    expect(await exited).toMatchObject({ signal: 'SIGKILL' })
    heal()
    const { client } = await start()
    expect((await client.memories({ cwd })).items.map(({ file }) => file).sort()).toEqual(['a.md', 'b.md'])
  })

  it('without an error is a count of the calls that the daemon and SQLite make', async (context) => {
    const { fail, failed, put, client, cwd } = await ground(context)
    const counts = [
      fail({ calls: 'open-read', ends: '/a.md' }),
      fail({ calls: 'read', ends: '/a.md' }),
      fail({ calls: 'stat', ends: '/a.md' }),
      fail({ calls: 'close', ends: '.tmp' }),
      fail({ calls: 'write', ends: '/history.db-wal' }),
    ]
    await put('a.md')
    await client.memories({ cwd })
    expect(counts.map(({ seen, hits }) => [seen() > 0, hits()])).toEqual(counts.map(() => [true, 0]))
    expect(failed()).toEqual([])
  })
})
