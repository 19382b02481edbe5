import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { storeLayout } from '../../daemon/db/layout.ts'
import { isVague } from '../../daemon/doctor/descriptions.ts'
import { memoryFindings } from '../../daemon/doctor/memories.ts'
import { memoryRig, person, type Rig, topic } from '../support/memory.ts'

const put = (rig: Rig, file: string, content: string, cwd = rig.cwd) =>
  rig.memory.writing.put(cwd, person, { file, content }, 'test')
const found = ({ state }: Rig) => memoryFindings(storeLayout(state).history)

describe('the doctor', () => {
  it('finds nothing wrong where every project is where it was', async () => {
    const rig = memoryRig()
    await put(rig, 'a.md', topic('One.', 'release dates'))
    expect(found(rig)).toEqual([{ check: 'moved projects', state: 'ok', message: '1 known, none of them gone' }])
    expect(memoryFindings(join(rig.home, 'no.db'))).toMatchObject([{ state: 'ok' }])
  })

  it('notices a project that is gone and left its memories, and says what to do', async () => {
    const rig = memoryRig()
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
    await rig.memory.carrying().moving.move({ from: rig.cwd, to: join(rig.home, 'else where') }, person)
    expect(found(rig)).toMatchObject([{ check: 'moved projects', state: 'ok' }])
  })

  it('says nothing of a project that is gone and left nothing', async () => {
    const rig = memoryRig()
    await put(rig, 'a.md', topic('One.', 'release dates'))
    await rig.memory.writing.forget(rig.cwd, person, 'a.md', { reject: false, ifHash: undefined })
    renameSync(rig.cwd, join(rig.home, 'elsewhere'))
    expect(found(rig)).toMatchObject([{ state: 'ok' }])
  })

  it('notices projects that share a directory, also by way of a link', async () => {
    const rig = memoryRig()
    const other = join(rig.home, 'other')
    mkdirSync(other)
    await put(rig, 'a.md', topic('One.', 'release dates'))
    symlinkSync(rig.dir, join(rig.home, 'memories', other.replaceAll('/', '-')))
    rig.memory.find(other, person)
    expect(found(rig)).toContainEqual({
      check: 'shared memories',
      state: 'warning',
      message: expect.stringContaining(' have one memory, '),
      remedy: expect.stringContaining('autoMemoryDirectory'),
    })
  })

  it('notices an index that no agent sees all of, and memories that nobody will find', async () => {
    const rig = memoryRig()
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
        message: expect.stringMatching(/^nobody will find \w+\.md, \w+\.md, \w+\.md and 1 more in /),
        remedy: expect.stringContaining('memoryd edit'),
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
