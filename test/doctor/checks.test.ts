import { chmodSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { storeLayout } from '../../daemon/db/database.ts'
import { isVague, jobFinding, keyFinding, memoryFindings } from '../../daemon/doctor/checks.ts'
import { makeHome } from '../support/home.ts'
import { due, jobTables, START_MS as T } from '../support/jobs.ts'
import { memoryRig, person, type Rig, topic } from '../support/memory.ts'

it('tells where the key to a model comes from, and what keeps it from being used', () => {
  const { dir } = makeHome()
  const budget = { usdPerDay: 1, tokensPerDay: 1 }
  const none = { apiKeyFile: null, apiKeyCommand: null }
  const file = (name: string, text: string, mode: number) => {
    const path = join(dir, name)
    writeFileSync(path, text)
    chmodSync(path, mode)
    return keyFinding({ model: { ...none, apiKeyFile: path }, budget }, {})
  }
  expect([
    keyFinding({ model: none, budget }, {}),
    keyFinding({ model: none, budget }, { ANTHROPIC_AUTH_TOKEN: 'sk-x' }),
    keyFinding({ model: { ...none, apiKeyCommand: 'exit 1' }, budget }, {}),
    keyFinding({ model: none, budget: { ...budget, usdPerDay: 0 } }, { ANTHROPIC_API_KEY: 'sk-x' }),
    file('good', 'sk-x\n', 0o600),
    file('empty', '\n', 0o600),
    file('open', 'sk-x', 0o644),
  ]).toEqual([
    { check: 'key', state: 'ok', message: 'there is none here: a daemon started here is offline and calls no model' },
    { check: 'key', state: 'ok', message: 'ANTHROPIC_AUTH_TOKEN is set here; a daemon started here is online' },
    { check: 'key', state: 'ok', message: 'a command of yours is asked for it' },
    { check: 'key', state: 'ok', message: 'the budget is 0: no model is called' },
    { check: 'key', state: 'ok', message: `${dir}/good is yours alone` },
    { check: 'key', state: 'problem', message: `${dir}/empty is empty`, remedy: 'write the key into it' },
    {
      check: 'key',
      state: 'problem',
      message: `${dir}/open can be read by others (mode 644)`,
      remedy: `chmod 600 ${dir}/open`,
    },
  ])
})

const HOUR = 3_600_000

function ground() {
  const { state, jobs, claims, claim } = jobTables()
  const found = (nowMs: number, awake = true) => jobFinding(storeLayout(state).index, { nowMs, awake })
  return { jobs, claims, claim: () => claim('me'), found }
}

it('finds nothing stuck where jobs get on', () => {
  const { jobs, claim, found } = ground()
  jobs.enqueue(due('a', 'm'), T)
  claim()
  jobs.enqueue(due('b', 'm'), T)
  jobs.enqueue(due('c', 'm', { notBeforeMs: T + 9 * HOUR }), T)
  expect(found(T + HOUR)).toEqual({ check: 'jobs', state: 'ok', message: '2 queued, 0 waiting, 1 running' })
  expect(jobFinding('/nowhere', { nowMs: T, awake: true })).toEqual({ check: 'jobs', state: 'ok', message: 'none yet' })
})

it('finds what runs for hours, what is not taken up, and what was given up', () => {
  const { jobs, claims, claim, found } = ground()
  const { id } = jobs.enqueue(due('a', 'm'), T)
  const late = T + HOUR + 1
  const warns = (message: string, remedy: string) => ({ check: 'jobs', state: 'warning', message, remedy })
  expect(found(late)).toEqual(warns(`${id} has been due for more than an hour, and is not taken up`, 'memoryd restart'))
  claim()
  expect(found(late)).toEqual(warns(`${id} has been running for more than an hour`, `memoryd jobs kill ${id}`))
  // No daemon is to be expected.
  expect(found(late, false)).toMatchObject({ state: 'ok' })
  claims.settle(id, 'me', { to: 'failed', error: 'no key', failures: 3, retryAt: 0 }, T)
  expect(found(late)).toEqual(warns(`1 given up, ${id} among them: no key`, `memoryd jobs retry ${id}`))
  jobs.enqueue(due('a', 'm2'), late)
  expect(found(late)).toMatchObject({ state: 'ok' })
})

const put = (rig: Rig, file: string, content: string, cwd = rig.cwd) =>
  rig.memory.put(cwd, person, { file, content }, 'test')
const found = ({ state }: Rig) => memoryFindings(storeLayout(state).history)

describe('the doctor', () => {
  it('finds nothing wrong where every project is where it was', async () => {
    const rig = await memoryRig()
    await put(rig, 'a.md', topic('One.', 'release dates'))
    expect(found(rig)).toEqual([{ check: 'moved projects', state: 'ok', message: '1 known, none of them gone' }])
    expect(memoryFindings(join(rig.home, 'no.db'))).toMatchObject([{ state: 'ok' }])
  })

  it('notices a project that is gone and left its memories, and says what to do', async () => {
    const rig = await memoryRig()
    await put(rig, 'a.md', topic('One.', 'release dates'))
    renameSync(rig.cwd, join(rig.home, 'else where'))
    expect(found(rig)).toEqual([
      {
        check: 'moved projects',
        state: 'warning',
        message: `${rig.cwd} is gone, and a memory of it is still in ${rig.dir}`,
        remedy: `if it was moved: memoryd move ${rig.cwd} <where it is now>`,
      },
    ])
    symlinkSync(join(rig.home, 'else where'), rig.cwd)
    expect(found(rig)).toMatchObject([{ check: 'moved projects', state: 'warning' }])
    await rig.memory.moving.move({ from: rig.cwd, to: join(rig.home, 'else where') }, person)
    expect(found(rig)).toMatchObject([{ check: 'moved projects', state: 'ok' }])
  })

  it('says nothing of a project that is gone and left nothing', async () => {
    const rig = await memoryRig()
    await put(rig, 'a.md', topic('One.', 'release dates'))
    await rig.memory.forget(rig.cwd, person, 'a.md', { reject: false, ifHash: undefined })
    renameSync(rig.cwd, join(rig.home, 'elsewhere'))
    expect(found(rig)).toMatchObject([{ state: 'ok' }])
  })

  it('notices projects that share a directory, also by way of a link', async () => {
    const rig = await memoryRig()
    const other = join(rig.home, 'other')
    mkdirSync(other)
    await put(rig, 'a.md', topic('One.', 'release dates'))
    mkdirSync(dirname(rig.dirOf(other)))
    symlinkSync(rig.dir, rig.dirOf(other))
    rig.projects.find(other, person)
    expect(found(rig)).toContainEqual({
      check: 'shared memories',
      state: 'warning',
      message: expect.stringContaining(' have one memory, '),
      remedy: expect.stringContaining('autoMemoryDirectory'),
    })
  })

  it('notices an index that no agent sees all of, and memories that no agent will find', async () => {
    const rig = await memoryRig()
    const vague = (name: string) =>
      `---\nname: ${name}\ndescription: notes about the project\ntype: project\n---\n\nx\n`
    await put(rig, 'clear.md', topic('One.', 'release dates'))
    for (const name of ['one', 'two', 'three', 'four']) await put(rig, `${name}.md`, vague(name))
    writeFileSync(join(rig.dir, 'MEMORY.md'), '- [Clear](clear.md) — clear\n'.repeat(201))
    expect(found(rig).slice(1)).toEqual([
      {
        check: 'index',
        state: 'warning',
        message: expect.stringContaining('MEMORY.md has 201 lines'),
        remedy: expect.stringContaining('short line'),
      },
      {
        check: 'descriptions',
        state: 'warning',
        message: expect.stringMatching(/^no agent will find \w+\.md, \w+\.md, \w+\.md and 1 more in /),
        remedy: expect.stringMatching(new RegExp(`memoryd edit --project ${rig.cwd} \\w+\\.md$`)),
      },
    ])
  })
})

describe('a description', () => {
  it.each([
    [undefined, true],
    ['', true],
    ['notes', true],
    ['Various things about the project', true],
    ['TODO', true],
    ['important!!!', true],
    ['Deploys go through Jenkins', false],
    ['The release is on 2026-03-05', false],
    ['发布日期是三月五日', false],
    ['笔记', true],
    ['Выпуск пятого марта', false],
    ['prefers tabs', false],
  ])('%s: too vague is %s', (description, vague) => {
    expect(isVague(description)).toBe(vague)
  })
})
