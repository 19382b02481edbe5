import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../client/index.ts'
import { hostileNames } from '../memory/hostile-names.ts'
import { snapshot } from '../memory/snapshot.ts'
import { makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { topic } from '../support/memory.ts'

async function rig() {
  const home = makeHome()
  await startDaemon(home)
  const cwd = join(home.dir, 'project')
  mkdirSync(join(cwd, '.git'), { recursive: true })
  const client = connect({ socket: home.places.socketPath, strict: true })
  onTestFinished(() => client.close())
  return { home, cwd, client }
}

describe('the memory of a sub-agent', () => {
  it('is its own in each scope, told about in a prompt with its index, and undone like any other', async () => {
    const { home, cwd, client } = await rig()
    const places = {
      user: join(home.dir, '.claude/agent-memory/plugin-reviewer'),
      project: join(cwd, '.claude/agent-memory/plugin-reviewer'),
      local: join(cwd, '.claude/agent-memory-local/plugin-reviewer'),
    }
    for (const [scope, dir] of Object.entries(places) as ['user' | 'project' | 'local', string][]) {
      const agent = { type: 'plugin:reviewer', cwd, scope }
      const before = await client.agentMemory(agent)
      expect(before).toEqual({ dir, text: expect.stringContaining('The index is empty') })
      const written = await client.putAgentMemory({
        ...agent,
        file: 'a.md',
        content: topic(`Only ${scope}.`, 'Reviews'),
      })
      expect(readFileSync(join(dir, 'a.md'), 'utf8')).toContain(`Only ${scope}.`)
      expect((await client.agentMemory(agent)).text).toContain('- [Reviews](a.md) — What is known of Reviews')
      expect(await client.agentMemoryFile({ ...agent, file: 'a.md' })).toMatchObject({ hash: written.hash })
      const { changeId } = await client.forgetAgentMemory({ ...agent, file: 'a.md' })
      expect(existsSync(join(dir, 'a.md'))).toBe(false)
      await client.undoChange({ id: changeId ?? '' })
      expect(readFileSync(join(dir, 'a.md'), 'utf8')).toContain(`Only ${scope}.`)
    }
    expect((await client.memories({ cwd })).items).toEqual([])
    expect((await client.agentMemory({ type: 'tester', cwd, scope: 'project' })).text).not.toContain('Reviews')
  })

  it('answers empty where memory is off, and takes no writes', async () => {
    const { cwd, client } = await rig()
    await client.pause({ cwd })
    const agent = { type: 'reviewer', cwd, scope: 'project' as const }
    expect(await client.agentMemory(agent)).toMatchObject({ text: '', skipped: 'off' })
    await expect(client.putAgentMemory({ ...agent, file: 'a.md', content: topic('x') })).rejects.toMatchObject({
      code: 'MEMORY_OFF',
    })
    expect(existsSync(join(cwd, '.claude'))).toBe(false)
  })

  it('lets no caller write outside it, and a repository cannot send it elsewhere', async () => {
    const { home, cwd, client } = await rig()
    const agent = { type: 'reviewer', cwd, scope: 'project' as const }
    const { dir } = await client.agentMemory(agent)
    const before = snapshot(cwd)
    const names = hostileNames.flatMap(({ path }) => (typeof path === 'string' && path !== '' ? [path] : []))
    expect(names.length).toBeGreaterThan(100)
    for (const file of names)
      await expect(client.putAgentMemory({ ...agent, file, content: topic('x') })).rejects.toMatchObject({
        code: expect.stringMatching(/^(REFUSED|BAD_REQUEST|NOT_FOUND)$/),
      })
    expect(snapshot(cwd)).toEqual(before)

    mkdirSync(join(home.dir, '.ssh'))
    symlinkSync(join(home.dir, '.ssh'), join(dir, '../linked'))
    await expect(
      client.putAgentMemory({ ...agent, type: 'linked', file: 'a.md', content: topic('x') }),
    ).rejects.toMatchObject({ code: 'REFUSED', reason: 'path' })
  })
})
