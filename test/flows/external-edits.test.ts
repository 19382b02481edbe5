import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startDaemon as startProcess } from '../support/daemon.ts'
import { savedEvents } from '../support/events.ts'
import { type Home, makeHome } from '../support/home.ts'
import { type DaemonHere, startDaemon } from '../support/in-process.ts'
import { topic } from '../support/memory.ts'

/** A daemon that knows one project with one memory, `a.md`. */
async function project<T extends Pick<DaemonHere, 'client'>>(start: (home: Home) => Promise<T>) {
  const home = makeHome()
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  execFileSync('git', ['init', '-q', cwd], { env: home.env as NodeJS.ProcessEnv })
  const daemon = await start(home)
  await daemon.client.putMemory({ cwd, file: 'a.md', content: topic('One.') })
  const { dir } = await daemon.client.memories({ cwd })
  return { home, cwd, dir, daemon }
}

async function journal({ client }: Pick<DaemonHere, 'client'>, cwd: string): Promise<string[]> {
  const { items } = await client.changes({ cwd, limit: '500' })
  return items.map(({ op, file, actor }) => `${op} ${file} ${actor}`).reverse()
}

describe('edits that others make while the daemon runs', () => {
  it('are journaled as theirs and announced, whichever way they were made, without a request', async () => {
    const { cwd, dir, daemon } = await project(startDaemon)
    const { until } = await savedEvents(daemon.client)
    let known = (await journal(daemon, cwd)).length
    /** Makes an edit; the announcements and the journal then tell of these changes and no others. */
    const edit = async (make: () => void, ...changes: string[]) => {
      make()
      const files = changes.map((change) => change.split(' ')[1] as string)
      const events = await until(...files)
      expect(events.map((event) => `${event.dir} ${event.actor}`)).toEqual(events.map(() => `${dir} external`))
      expect(events.flatMap((event) => event.files).sort()).toEqual(files)
      const entries = await journal(daemon, cwd)
      expect(entries.slice(known).sort()).toEqual(changes.map((change) => `${change} external`))
      known = entries.length
    }
    await edit(() => writeFileSync(join(dir, 'a.md'), topic('Written in place.')), 'update a.md')
    await edit(() => {
      writeFileSync(join(dir, 'a.md.new'), topic('Replaced by rename.'))
      renameSync(join(dir, 'a.md.new'), join(dir, 'a.md'))
    }, 'update a.md')
    await edit(() => {
      mkdirSync(join(dir, 'team'))
      writeFileSync(join(dir, 'team', 'b.md'), topic('In a new folder.'))
    }, 'create team/b.md')
    await edit(() => writeFileSync(join(dir, 'team', 'b.md'), topic('Again.')), 'update team/b.md')
    await edit(() => rmSync(join(dir, 'a.md')), 'delete a.md')
    await edit(() => renameSync(dir, `${dir}.away`), 'delete MEMORY.md', 'delete team/b.md')
    await edit(() => renameSync(`${dir}.away`, dir), 'create MEMORY.md', 'create team/b.md')
    await edit(() => rmSync(dir, { recursive: true }), 'delete MEMORY.md', 'delete team/b.md')
    await edit(() => {
      mkdirSync(dir)
      writeFileSync(join(dir, 'a.md'), topic('Restored.'))
    }, 'create a.md')
  })

  it('are told from what goes through the gate', async () => {
    const { cwd, dir, daemon } = await project(startDaemon)
    const { until } = await savedEvents(daemon.client)
    for (let n = 0; n < 5; n++) await daemon.client.putMemory({ cwd, file: 'a.md', content: topic(`Ours ${n}.`) })
    writeFileSync(join(dir, 'theirs.md'), topic('Theirs.'))
    expect((await until('theirs.md')).map(({ files, actor }) => `${files} ${actor}`)).toEqual([
      ...Array(5).fill('a.md agent:api'),
      'theirs.md external',
    ])
    expect(await journal(daemon, cwd)).toEqual([
      'create a.md agent:api',
      ...Array(5).fill('update a.md agent:api'),
      'create theirs.md external',
    ])
  })

  it('stand in a storm of two hundred writes', async () => {
    const { cwd, dir, daemon } = await project(startDaemon)
    const { until } = await savedEvents(daemon.client)
    const edited = topic('The word of a person.')
    const refused: unknown[] = []
    const writer = async (own: number) => {
      for (let n = 0; n < 50; n++) {
        const file = `w${own}_${n % 5}.md`
        const answer = await daemon.client
          .putMemory({ cwd, file, content: topic(`Round ${n}.`, file) })
          .catch((error: unknown) => error)
        if (answer instanceof Error) refused.push(answer)
        // Its own file, and no other: from here on the writer has not seen what is in it.
        if (own === 2 && n === 21) writeFileSync(join(dir, file), edited)
      }
    }
    await Promise.all([0, 1, 2, 3].map(writer))
    await until('w2_1.md')
    expect(readFileSync(join(dir, 'w2_1.md'), 'utf8')).toBe(edited)
    expect(refused).toHaveLength(5)
    expect(refused).toEqual(Array(5).fill(expect.objectContaining({ code: 'CONFLICT' })))
    const theirs = (await journal(daemon, cwd)).filter((entry) => entry.endsWith(' external'))
    expect(theirs).toEqual(['update w2_1.md external'])
    expect((await daemon.client.memory({ cwd, file: 'w2_1.md' })).content).toBe(edited)
  })

  it('are journaled at the next start when it was killed meanwhile', async () => {
    const { home, cwd, dir, daemon } = await project(startProcess)
    await daemon.client.putMemory({ cwd, file: 'b.md', content: topic('Two.') })
    await daemon.kill9()
    writeFileSync(join(dir, 'a.md'), topic('While it was away.'))
    rmSync(join(dir, 'b.md'))
    mkdirSync(join(dir, 'team'))
    writeFileSync(join(dir, 'team', 'c.md'), topic('New.'))
    const again = await startDaemon(home)
    const { until } = await savedEvents(again.client)
    // It has looked at all of them before it looks at this one, or at the same time.
    writeFileSync(join(dir, 'd.md'), topic('After the start.'))
    await until('d.md')
    expect((await journal(again, cwd)).slice(2).sort()).toEqual([
      'create d.md external',
      'create team/c.md external',
      'delete b.md external',
      'update a.md external',
    ])
  })

  it('are not looked for behind a link to a forbidden place, where nothing is read or written', async () => {
    const { home, cwd, dir, daemon } = await project(startDaemon)
    renameSync(dir, `${dir}.away`)
    symlinkSync(home.dir, dir)
    writeFileSync(join(home.dir, 'private.md'), topic('Private.'))
    await expect(daemon.client.putMemory({ cwd, file: 'x.md', content: topic('x') })).rejects.toMatchObject({
      code: 'REFUSED',
      reason: 'path',
      message: expect.stringContaining('is your home directory'),
    })
    await daemon.stop()
    const again = await startDaemon(home)
    const { until } = await savedEvents(again.client)
    writeFileSync(join(home.dir, 'private.md'), topic('Private for ever.'))
    rmSync(dir)
    renameSync(`${dir}.away`, dir)
    writeFileSync(join(dir, 'b.md'), topic('Back.'))
    // It is watched again from its next use on, or from the next sweep on.
    await again.client.memories({ cwd })
    await until('b.md')
    expect(await journal(again, cwd)).toEqual(['create a.md agent:api', 'create b.md external'])
    expect(existsSync(join(home.dir, 'MEMORY.md'))).toBe(false)
  })
})
