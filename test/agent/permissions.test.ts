import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createPlaces } from '../../daemon/agent/permissions.ts'
import { createWorkingCopy } from '../../daemon/agent/working-copy.ts'
import { snapshot } from '../memory/snapshot.ts'
import { hostileCalls, prepareHostileGround } from './permission-corpus.ts'
import { agentGround, SENTINEL } from './rig.ts'

describe('what a hostile model asks for', () => {
  it('is denied with a usable reason, every call of the corpus, and nothing has changed or was shown', async () => {
    const ground = await agentGround()
    prepareHostileGround(ground)
    const calls = hostileCalls(ground)
    expect(calls.length).toBeGreaterThanOrEqual(150)
    const before = ['memory', 'project', 'transcripts', 'outside'].map((name) => snapshot(`${ground.home}/${name}`))
    const wrong: unknown[] = []
    for (const { name, input, policy, says } of calls) {
      const { run, runner, copy } = ground.tools(policy)
      const { content, isError } = await run(name, input)
      const ok =
        isError &&
        content.startsWith('Denied: ') &&
        says.test(content) &&
        !content.includes(SENTINEL) &&
        runner.denials() === 1 &&
        copy.drafts().length === 0
      if (!ok)
        wrong.push({
          name: name.slice(0, 40),
          input: JSON.stringify(input).slice(0, 100),
          content: content.slice(0, 200),
        })
    }
    expect([wrong, ground.denied().length]).toEqual([[], calls.length])
    expect(['memory', 'project', 'transcripts', 'outside'].map((name) => snapshot(`${ground.home}/${name}`))).toEqual(
      before,
    )
  })

  it('is denied beside a single file that may be read', async () => {
    const { outside, reach } = await agentGround()
    for (const name of ['a.jsonl', 'b.jsonl']) writeFileSync(join(outside, name), name)
    const places = createPlaces({ ...reach, files: [join(outside, 'a.jsonl')] })
    const copy = createWorkingCopy(places)
    const file = places.locate(join(outside, 'a.jsonl'))
    if ('denied' in file) throw new Error('denied')
    expect(copy.read(file)).toMatchObject({ text: 'a.jsonl' })
    for (const other of ['b.jsonl', 'a.jsonl/../b.jsonl', '.', '']) {
      expect(places.locate(join(outside, other))).toMatchObject({ denied: expect.any(String) })
      expect(places.locateChange(join(outside, other))).toMatchObject({ denied: expect.any(String) })
    }
    expect(places.locateChange(join(outside, 'a.jsonl'))).toMatchObject({ denied: expect.any(String) })
  })

  it('is denied though a folder became a link after it was allowed', async () => {
    const { memory, outside, reach } = await agentGround()
    mkdirSync(join(memory, 'sub'))
    for (const dir of [join(memory, 'sub'), outside]) writeFileSync(join(dir, 'x.md'), SENTINEL)
    const places = createPlaces(reach)
    const copy = createWorkingCopy(places)
    const [file, folder] = [places.locate('sub/x.md'), places.locate('sub')]
    if ('denied' in file || 'denied' in folder) throw new Error('denied too early')
    expect(copy.read(file)).toMatchObject({ text: SENTINEL })
    renameSync(join(memory, 'sub'), join(memory, 'was'))
    symlinkSync(outside, join(memory, 'sub'))
    const replaced = (asked: string) => ({ denied: `"${asked}" was replaced while it was being read` })
    expect(copy.read(file)).toEqual(replaced('sub/x.md'))
    expect(copy.list(folder)).toEqual(replaced('sub'))
    expect(copy.facts(file)).toEqual(replaced('sub/x.md'))
  })

  it('shows nothing from outside where a search passes by links, twins and places of keys', async () => {
    const ground = await agentGround()
    prepareHostileGround(ground)
    const { run } = ground.tools()
    for (const [name, input] of [
      ['Grep', { pattern: 'sentinel', path: ground.project }],
      ['Grep', { pattern: 'sentinel', path: ground.memory }],
      ['Bash', { command: `grep -r sentinel ${ground.project} .` }],
      ['Glob', { pattern: '**/*secret*', path: ground.project }],
      ['Bash', { command: `find ${ground.project} -name secret.txt` }],
      ['Bash', { command: 'ls -R' }],
    ] as const) {
      const { content } = await run(name, input)
      expect([name, content.includes(SENTINEL) || content.includes('secret.')]).toEqual([name, false])
    }
  })
})
