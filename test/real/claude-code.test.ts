import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest'
import type { StrictClient } from '../../client/index.ts'
import { memoryd } from '../support/cli.ts'
import { connectAs } from '../support/connect-as.ts'
import { startDaemon } from '../support/daemon.ts'
import { type Home, makeHome } from '../support/home.ts'
import { topic } from '../support/memory.ts'
import { rawRequest } from '../support/raw.ts'
import { installClaude, memoryDirIn, runClaude, systemOf, wordsOf } from './claude-client.ts'
import type { Installed } from './install.ts'
import { git, repository } from './repository.ts'
import { startModel } from './scripted-model.ts'

let installed: Installed
beforeAll(async () => {
  installed = await installClaude()
  if ('missing' in installed) console.warn(`skipped, ${installed.missing}`)
})
afterAll(() => {
  if ('remove' in installed) installed.remove()
})

async function open({ skip }: TestContext) {
  if ('missing' in installed) return skip(installed.missing)
  const home = makeHome()
  const model = await startModel()
  const daemon = await startDaemon(home)
  const { program } = installed
  const claude = (cwd: string, prompt: string, env: Record<string, string> = {}) =>
    runClaude(program, { home, model }, { cwd, prompt, env })
  return { home, model, daemon, claude, person: connectAs(home, 'user') }
}

function folder(home: Home, ...path: string[]): string {
  const cwd = join(home.dir, ...path)
  mkdirSync(cwd, { recursive: true })
  return cwd
}

/** Where the client is started. */
const places: [string, (home: Home) => string][] = [
  ['a repository', (home) => repository(home, 'project')],
  [
    'a folder of a repository',
    (home) => {
      repository(home, 'project')
      return folder(home, 'project', 'src', 'deep')
    },
  ],
  [
    'a worktree',
    (home) => {
      git(home, '-C', repository(home, 'project'), 'worktree', 'add', join(home.dir, 'tree'))
      return join(home.dir, 'tree')
    },
  ],
  ['a folder of its own', (home) => folder(home, 'plain')],
  ['a path with a space', (home) => repository(home, 'with space')],
  ['a hidden folder', (home) => repository(home, '.hidden')],
  ['a path beyond ASCII', (home) => repository(home, 'caf\u00e9 \u65e5\u672c \u{1f642}')],
  ['a path longer than 200', (home) => repository(home, ...Array.from({ length: 5 }, (_, n) => `${n}`.repeat(50)))],
  [
    'a link to a repository',
    (home) => {
      symlinkSync(repository(home, 'project'), join(home.dir, 'link'))
      return join(home.dir, 'link')
    },
  ],
]

/** A memory as the client's own instructions ask for it. */
const BY_CLIENT = `---
name: deploy-branch
description: Deploys go out from the release branch only
metadata:
  type: feedback
---

Deploy from the release branch only.

**Why:** A deploy from main broke staging on 2026-03-01.

**How to apply:** Check the branch before every deploy.
`
const POINTER = '- [Deploys](deploy-branch.md) — from the release branch only\n'

const write = (id: string, file_path: string, content: string) =>
  ({ type: 'tool_use', id, name: 'Write', input: { file_path, content } }) as const

describe('Claude Code', () => {
  it.for(places)('is given in its first request what memoryd keeps for %s', async ([, prepare], context) => {
    const { home, claude, person } = await open(context)
    const cwd = prepare(home)
    await person.remember({ cwd, text: 'Always run the linter before a commit' })
    await person.putMemory({ cwd, file: 'release.md', content: topic('The release is on 2026-03-05.', 'Release') })
    const { dir } = await person.memories({ cwd })
    const index = readFileSync(join(dir, 'MEMORY.md'), 'utf8')
    expect(index.trimEnd().split('\n')).toHaveLength(2)

    const [first] = await claude(cwd, 'hello')
    if (!first) throw new Error('the client asked nothing')
    expect(memoryDirIn(first)).toBe(dir)
    expect(wordsOf(first)).toContain(`Contents of ${join(dir, 'MEMORY.md')}`)
    expect(wordsOf(first)).toContain(index)
    expect(wordsOf(first)).not.toContain('The release is on 2026-03-05.')
  })

  it('writes memories that memoryd lists, shows and knows as those of another, and reads what memoryd adds', async (context) => {
    const { home, model, claude, person } = await open(context)
    const cwd = repository(home, 'project')
    const [asked] = await claude(cwd, 'hello')
    const dir = (asked && memoryDirIn(asked)) ?? ''
    model.say([
      write('toolu_1', join(dir, 'deploy-branch.md'), BY_CLIENT),
      write('toolu_2', join(dir, 'MEMORY.md'), POINTER),
    ])
    // Noticed while they are written, or with the next sweep.
    const saved = await listen(person)
    await claude(cwd, 'Remember that we deploy from the release branch only')
    expect(readdirSync(dir).sort()).toEqual(['MEMORY.md', 'deploy-branch.md'])
    // The client adds to the metadata of what its model writes: its session, the time, and what kind of node it is.
    const written = readFileSync(join(dir, 'deploy-branch.md'), 'utf8')
    const [, block = ''] = BY_CLIENT.split('---\n')
    for (const line of block.trimEnd().split('\n')) expect(written.split('\n')).toContain(line)
    expect(written.split('---\n')[2]).toBe(BY_CLIENT.split('---\n')[2])

    expect(await person.memories({ cwd })).toMatchObject({
      dir,
      items: [
        {
          file: 'deploy-branch.md',
          name: 'deploy-branch',
          description: 'Deploys go out from the release branch only',
          type: 'feedback',
          scope: 'private',
        },
      ],
    })
    await saved('external', ['MEMORY.md', 'deploy-branch.md'])
    const run = (...args: string[]) => memoryd({ ...home, dir: cwd }, ...args)
    expect((await run('list')).stdout).toContain('feedback  deploy-branch.md  Deploys go out')
    expect((await run('show', 'deploy-branch.md')).stdout).toBe(written)
    expect((await run('history', 'deploy-branch.md')).stdout).toMatch(/create .*deploy-branch\.md {2}external: found/)
    expect((await person.memoryIndex({ cwd })).content).toBe(POINTER)

    await person.remember({ cwd, text: 'The office is in Lisbon' })
    const index = readFileSync(join(dir, 'MEMORY.md'), 'utf8')
    expect(index).toContain(POINTER)
    const [next] = await claude(cwd, 'And now?')
    expect(next && wordsOf(next)).toContain(index)
    expect(readFileSync(join(dir, 'deploy-branch.md'), 'utf8')).toBe(written)
  })

  it('has no memory where memoryd says that it is off', async (context) => {
    const { home, claude, person } = await open(context)
    const cwd = repository(home, 'project')
    await person.remember({ cwd, text: 'The office is in Lisbon' })
    const off = { CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1' }
    const [first] = await claude(cwd, 'hello', off)
    if (!first) throw new Error('the client asked nothing')
    expect(memoryDirIn(first)).toBeUndefined()
    expect(systemOf(first) + wordsOf(first)).not.toContain('Lisbon')
    const { body } = await rawRequest(home.places.socketPath, {
      path: `/v1/memories?cwd=${encodeURIComponent(cwd)}`,
      headers: { 'x-memoryd-env': JSON.stringify(off) },
    })
    expect(JSON.parse(body)).toMatchObject({ items: [], skipped: 'off' })
  })
})

/** From now on: waits until events have told of changes to all these files by an actor, and to no others. */
async function listen(client: StrictClient): Promise<(actor: string, files: string[]) => Promise<void>> {
  const events = client.events()[Symbol.asyncIterator]()
  // The first one only says that the stream is open.
  await events.next()
  return async (actor, files) => {
    const told = new Set<string>()
    for (let next = await events.next(); !next.done; next = await events.next()) {
      if (next.value.type !== 'saved' || next.value.actor !== actor) continue
      for (const file of next.value.files) told.add(file)
      if (told.size >= files.length) return expect([...told].sort()).toEqual(files)
    }
    throw new Error('the daemon stopped before it told of a change')
  }
}
