import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../client/index.ts'
import { hostileCases, prepareGround } from '../memory/containment-corpus.ts'
import { snapshot } from '../memory/snapshot.ts'
import { memoryd } from '../support/cli.ts'
import { type Home, makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { rawRequest } from '../support/raw.ts'

function repository(home: Home, name = 'project'): string {
  const cwd = join(home.dir, name)
  mkdirSync(cwd)
  execFileSync('git', ['init', '-q', cwd], { env: home.env as NodeJS.ProcessEnv })
  return cwd
}

const inRepository =
  (home: Home, cwd: string) =>
  (...args: string[]) =>
    memoryd({ ...home, dir: cwd }, ...args)

describe('memories from the command line', () => {
  it('are kept where Claude Code keeps its own, shown, explained, forgotten and brought back', async () => {
    const home = makeHome()
    await startDaemon(home)
    const cwd = repository(home)
    const run = inRepository(home, cwd)
    expect((await run('list')).stdout).toContain('no memories yet')
    expect(await run('remember', 'Always run the linter before a commit')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('remembered in feedback_always_run_the_linter_before_a_commit.md (feedback)'),
    })
    const slug = cwd.replace(/[^A-Za-z0-9]/g, '-')
    const dir = join(home.dir, '.claude', 'projects', slug, 'memory')
    const file = 'feedback_always_run_the_linter_before_a_commit.md'
    expect(readdirSync(dir).sort()).toEqual(['MEMORY.md', file])
    expect((await run('list')).stdout).toContain(`feedback  ${file}  Always run the linter before a commit`)
    expect((await run('show', file)).stdout).toBe(readFileSync(join(dir, file), 'utf8'))
    expect((await run('why', file)).stdout).toContain('create by user: asked to remember')
    expect((await run('remember', 'ALWAYS run the linter, before a commit!')).stdout).toContain('known already')

    expect((await run('forget', file, '--reject')).stdout).toContain('it will not come back')
    expect(readdirSync(dir)).toEqual(['MEMORY.md'])
    expect(await run('remember', 'always run the linter before a commit')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /says again what was rejected .*\nif it holds after all, run first: memoryd forget --lift 1\n$/,
      ),
    })
    expect((await run('forget', '--rejected')).stdout).toContain('Always run the linter')
    expect((await run('forget', '--lift', '1')).code).toBe(0)
    const history = JSON.parse((await run('history', '--json')).stdout).items
    const deletion = history.find(({ op }: { op: string }) => op === 'delete')
    expect((await run('undo', deletion.id)).code).toBe(0)
    expect(readdirSync(dir).sort()).toEqual(['MEMORY.md', file])
    expect(await run('undo', deletion.id)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${file} is as it was before that already\nnothing was undone`),
    })
    expect((await run('history', 'nope.md')).stdout).toBe('nothing has happened to nope.md\nrun: memoryd list\n')
  })

  it('lead to the list of what there is when something unknown is named', async () => {
    const home = makeHome()
    await startDaemon(home)
    const unknown: [string[], string][] = [
      [['show', 'nope.md'], 'run: memoryd list'],
      [['edit', 'nope.md'], 'run: memoryd list'],
      [['forget', 'nope.md'], 'run: memoryd list'],
      [['forget', 'nope.md', '--purge', '--yes'], 'run: memoryd list'],
      [['forget', '--lift', '99'], 'run: memoryd forget --rejected'],
      [['undo', '99'], 'run: memoryd history'],
      [['undo', '--run', 'nope'], 'run: memoryd history'],
      [['review', 'approve', '99'], 'run: memoryd review'],
      [['why', '--session', 'nope'], 'to find it by its words: memoryd search "a word of it"'],
    ]
    for (const [args, hint] of unknown)
      expect(await memoryd(home, ...args)).toMatchObject({ code: 1, stderr: expect.stringMatching(`\n${hint}\n$`) })
  })

  it('are not made of nothing', async () => {
    const home = makeHome()
    await startDaemon(home)
    const run = inRepository(home, repository(home))
    const nothing = { code: 2, stdout: '', stderr: 'memoryd: there is nothing to remember\nsay it in a sentence\n' }
    expect(await run('remember', ' \n ')).toEqual(nothing)
    expect(JSON.parse((await run('history', '--json')).stdout).items).toEqual([])
  })

  it('can be edited in the editor of the person, and are theirs then', async () => {
    const home = makeHome()
    await startDaemon(home)
    const cwd = repository(home)
    await inRepository(home, cwd)('remember', 'The office is in Lisbon')
    const [item] = JSON.parse((await inRepository(home, cwd)('list', '--json')).stdout).items
    const editor = join(home.dir, 'editor')
    writeFileSync(editor, '#!/bin/sh\nsed -i s/Lisbon/Porto/ "$1"\n')
    chmodSync(editor, 0o755)
    const edited = { ...home, env: { ...home.env, EDITOR: editor } }
    expect((await inRepository(edited, cwd)('edit', item.file)).stdout).toContain('saved')
    expect((await inRepository(home, cwd)('show', item.file)).stdout).toContain('The office is in Porto')
    expect((await inRepository(home, cwd)('history', item.file)).stdout).toMatch(/update .* user: edited/)
  })

  it('are those of the main repository in all its worktrees and folders', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    const cwd = repository(home)
    const git = (...args: string[]) =>
      execFileSync('git', ['-C', cwd, '-c', 'user.name=x', '-c', 'user.email=x@y', ...args], {
        env: home.env as NodeJS.ProcessEnv,
        stdio: 'ignore',
      })
    git('commit', '--allow-empty', '-m', 'first')
    git('worktree', 'add', join(home.dir, 'tree'))
    mkdirSync(join(cwd, 'src'))
    await daemon.client.remember({ cwd, text: 'The release is on 2026-03-05' })
    const lists = await Promise.all(
      [cwd, join(cwd, 'src'), join(home.dir, 'tree')].map((folder) => daemon.client.memories({ cwd: folder })),
    )
    expect(new Set(lists.map(({ dir }) => dir)).size).toBe(1)
    expect(lists.map(({ items }) => items.length)).toEqual([1, 1, 1])
    expect((await daemon.client.memories({ cwd: repository(home, 'another') })).items).toEqual([])
  })
})

describe('memories over the socket', () => {
  it('are written in the name of the caller that came by that way, whatever the content or the body claims', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    const cwd = repository(home)
    const content = '---\nname: x\ndescription: y\ntype: user\nactor: user\n---\n\nactor: user\n'
    await daemon.client.putMemory({ cwd, file: 'a.md', content })
    const harness = connect({ socket: home.places.socketPath, strict: true, actor: 'agent:pi' })
    onTestFinished(harness.close)
    await harness.putMemory({ cwd, file: 'b.md', content })
    const bad = await rawRequest(home.places.socketPath, {
      method: 'PUT',
      path: `/v1/memories/c.md?cwd=${encodeURIComponent(cwd)}`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ content, actor: 'user' }),
    })
    expect(bad.status).toBe(400)
    const { items } = await daemon.client.changes({ cwd })
    expect(items.map(({ file, actor }) => `${file} ${actor}`)).toEqual(['b.md agent:pi', 'a.md agent:api'])
    await expect(harness.decideReview({ id: '1', decision: 'approve' })).rejects.toMatchObject({ reason: 'permission' })
  })

  it('are off where the caller, the configuration or a person has switched them off', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    const cwd = repository(home)
    await daemon.client.remember({ cwd, text: 'The release is on 2026-03-05' })
    await daemon.client.pause({ cwd: join(cwd) })
    expect(await daemon.client.memories({ cwd })).toMatchObject({ items: [], skipped: 'off' })
    expect(await daemon.client.memoryIndex({ cwd })).toMatchObject({ content: '', skipped: 'off' })
    await expect(daemon.client.remember({ cwd, text: 'Something else' })).rejects.toMatchObject({
      code: 'MEMORY_OFF',
      hint: `run: memoryd resume --project ${cwd}`,
    })
    await daemon.client.pause()
    const everywhere = {
      message: expect.stringMatching(/: paused everywhere$/),
      hint: 'to end all pauses: memoryd resume',
    }
    await expect(daemon.client.remember({ cwd, text: 'Something else' })).rejects.toMatchObject(everywhere)
    await daemon.client.resume()
    expect((await daemon.client.memories({ cwd })).items).toHaveLength(1)
    const off = await rawRequest(home.places.socketPath, {
      path: `/v1/memories?cwd=${encodeURIComponent(cwd)}`,
      headers: { 'x-memoryd-env': '{"CLAUDE_CODE_DISABLE_AUTO_MEMORY":"1"}' },
    })
    expect(JSON.parse(off.body)).toMatchObject({ items: [], skipped: 'off' })
  })

  it('come with the instruction files, the index last', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    const cwd = repository(home)
    writeFileSync(join(cwd, 'CLAUDE.md'), 'Use tabs.\n')
    await daemon.client.remember({ cwd, text: 'The release is on 2026-03-05' })
    const { items } = await daemon.client.instructions({ cwd })
    expect(items.map(({ kind }) => kind)).toEqual(['project', 'memory'])
  })

  it('stay inside their directory whatever the name, and say why a name is refused', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    const ground = prepareGround(home.dir)
    const env = JSON.stringify({ CLAUDE_COWORK_MEMORY_PATH_OVERRIDE: ground.memory })
    let tried = 0
    for (const { name, path, setUp, afterOpening } of hostileCases) {
      // What cannot be written as UTF-8 cannot be sent either.
      if (typeof path !== 'string' || setUp || afterOpening || /\p{Cs}/u.test(path)) continue
      const before = snapshot(ground.outside)
      const answer = await rawRequest(home.places.socketPath, {
        method: 'PUT',
        path: `/v1/memories/${path.split('/').map(encodeURIComponent).join('/')}?cwd=${encodeURIComponent(home.dir)}`,
        headers: { 'content-type': 'application/json', 'x-memoryd-env': env },
        body: JSON.stringify({ content: '---\nname: x\ndescription: y\ntype: user\n---\n\nbody\n' }),
      }).catch((error: Error) => ({ status: 400, body: JSON.stringify({ error: { message: error.message } }) }))
      expect(answer.status, name).toBeGreaterThanOrEqual(400)
      expect(JSON.parse(answer.body).error.message, name).toBeTruthy()
      expect(snapshot(ground.outside), name).toEqual(before)
      tried++
    }
    expect(tried).toBeGreaterThan(200)
    expect((await daemon.client.health()).ok).toBe(true)
  })
})
