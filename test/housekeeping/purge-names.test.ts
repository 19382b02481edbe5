import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { memoryRig, person, type Rig, topic } from '../support/memory.ts'
import { missing, traces } from '../support/traces.ts'

const FILE = 'project_quagmire_walnut.md'
const words = ['quagmire', 'plankton']
const content = topic('The vault opens with quagmire walnut.', 'Plankton')

const put = (rig: Rig, file: string, text: string, cwd = rig.cwd) =>
  rig.memory.put(cwd, person, { file, content: text }, 'test')
const purge = (rig: Rig, file: string, cwd = rig.cwd) =>
  rig.purges.purge(rig.memory.dirOf(cwd, person), person, file, { reject: false, ifHash: undefined })
const names = (rig: Rig, cwd = rig.cwd) =>
  rig.memory.history
    .changes(cwd, person, { file: undefined, limit: undefined, after: undefined })
    .items.map(({ op, file }) => `${op} ${file}`)

function folder(rig: Rig, name: string): string {
  mkdirSync(join(rig.home, name))
  return join(rig.home, name)
}

describe('a purged memory that went by other names', () => {
  it('leaves nothing under the name a person had renamed it from, in no backup either', async () => {
    for (const noticed of [true, false]) {
      const rig = await memoryRig()
      await put(rig, 'first.md', topic('Something else.', 'First'))
      await put(rig, FILE, content)
      await rig.store.backUpDaily(rig.time.clock.now())
      renameSync(join(rig.dir, FILE), join(rig.dir, 'renamed.md'))
      const index = join(rig.dir, 'MEMORY.md')
      writeFileSync(index, readFileSync(index, 'utf8').replace(FILE, 'renamed.md'))
      if (noticed) await rig.memory.lookEverywhere()
      expect(missing(rig.state, words)).toEqual([])
      await purge(rig, 'renamed.md')
      expect(traces(rig.state, words)).toEqual([])
      const told = names(rig)
      await rig.memory.lookEverywhere()
      expect(traces(rig.state, words)).toEqual([])
      expect(names(rig)).toEqual(told)
      expect(rig.errors()).toEqual([])
    }
  })

  it('leaves nothing in the index of the place its project was moved from', async () => {
    const rig = await memoryRig()
    const old = folder(rig, 'old')
    await put(rig, FILE, content, old)
    await rig.store.backUpDaily(rig.time.clock.now())
    rmSync(old, { recursive: true })
    await rig.memory.moving.move({ from: old, to: rig.cwd }, person)
    await purge(rig, FILE)
    expect(traces(rig.state, ['plankton', 'with quagmire'])).toEqual([])
  })

  it('leaves nothing under the other name of a directory that two projects share by a link', async () => {
    const rig = await memoryRig()
    const other = folder(rig, 'other')
    await put(rig, FILE, content)
    const link = rig.dirOf(other)
    mkdirSync(dirname(link))
    symlinkSync(rig.dir, link)
    rig.projects.find(other, person)
    await rig.memory.lookEverywhere()
    const session = { sessionId: 's', harness: 'h' }
    await rig.memory.prompting.prompt(rig.cwd, person, session)
    await rig.memory.prompting.prompt(other, person, session)
    await purge(rig, FILE, other)
    expect(traces(rig.state, words)).toEqual([])
    await rig.memory.lookEverywhere()
    expect(traces(rig.state, words)).toEqual([])
  })

  it('keeps the name, and what else it stood for, of a file that once said the same', async () => {
    const rig = await memoryRig()
    const other = folder(rig, 'other')
    await put(rig, 'notes.md', content, other)
    await put(rig, 'notes.md', topic('Quite another thing.', 'Notes'), other)
    await put(rig, FILE, content)
    await put(rig, 'copy.md', content)
    await purge(rig, FILE)
    expect(names(rig, other)).toEqual(['update notes.md', 'create notes.md'])
    expect(names(rig)).toEqual(['delete purged-9', 'create copy.md', 'create purged-9'])
    expect(readFileSync(join(rig.dir, 'copy.md'), 'utf8')).toBe(content)
    await rig.memory.lookEverywhere()
    expect(names(rig)).toHaveLength(3)
    expect(rig.memory.reading.get(other, person, 'notes.md', undefined).content).toBe(
      topic('Quite another thing.', 'Notes'),
    )
  })
})
