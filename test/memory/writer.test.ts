import { hash } from 'node:crypto'
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { explainDiskError } from '../../daemon/memory/folder.ts'
import { createCredentialNames } from '../../daemon/memory/write-checks.ts'
import { agent, memoryRig, person, type Rig, topic } from '../support/memory.ts'

const put = (rig: Rig, file: string, content: string, caller = person, expect?: string | null) =>
  rig.memory.put(rig.cwd, caller, { file, content, expect }, 'test')
const read = (rig: Rig, file: string) => readFileSync(join(rig.dir, file), 'utf8')
const tree = (dir: string) =>
  Object.fromEntries(
    readdirSync(dir)
      .sort()
      .map((name) => [name, readFileSync(join(dir, name), 'utf8')]),
  )

describe('a written memory', () => {
  it('is the file, a line in the index, and an entry in the journal', async () => {
    const rig = await memoryRig()
    const content = topic('The release is on 2026-03-05.', 'Release')
    const written = await put(rig, 'project_release.md', content)
    expect(tree(rig.dir)).toEqual({
      'MEMORY.md': '- [Release](project_release.md) — What is known of Release\n',
      'project_release.md': content,
    })
    expect(written).toEqual({
      file: 'project_release.md',
      changeId: '1',
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      created: true,
      redacted: [],
      advice: expect.any(Array),
    })
    expect(
      rig.memory.history.changes(rig.cwd, person, { file: undefined, limit: undefined, after: undefined }),
    ).toEqual({
      items: [
        {
          id: '1',
          at: '2026-01-01T00:00:00.000Z',
          file: 'project_release.md',
          op: 'create',
          actor: 'user',
          reason: 'test',
          beforeHash: null,
          afterHash: written.hash,
          evidence: [],
          undoable: true,
        },
      ],
    })
  })

  it("leaves a person's own ordering and words in the index alone", async () => {
    const rig = await memoryRig()
    await put(rig, 'a.md', topic('Alpha is first.', 'Alpha'))
    writeFileSync(join(rig.dir, 'MEMORY.md'), '# Mine\n\n- [Alpha](a.md) — my own words\n\nsome prose of mine\n')
    await put(rig, 'b.md', topic('Beta is second.', 'Beta'))
    expect(read(rig, 'MEMORY.md')).toBe(
      '# Mine\n\n- [Alpha](a.md) — my own words\n- [Beta](b.md) — What is known of Beta\n\nsome prose of mine\n',
    )
  })

  it('is pointed to again when its line was taken out of the index, and touches no index that says it already', async () => {
    const rig = await memoryRig()
    for (const name of ['Alpha', 'Beta']) await put(rig, `${name}.md`, topic('First.', name))
    const index = read(rig, 'MEMORY.md')
    const { ino } = statSync(join(rig.dir, 'MEMORY.md'))
    await put(rig, 'Alpha.md', topic('Second.', 'Alpha'))
    expect(statSync(join(rig.dir, 'MEMORY.md')).ino).toBe(ino)
    writeFileSync(join(rig.dir, 'MEMORY.md'), '- [Beta](Beta.md) — What is known of Beta\n')
    await put(rig, 'Alpha.md', topic('Third.', 'Alpha'))
    expect(read(rig, 'MEMORY.md').split('\n').sort()).toEqual(index.split('\n').sort())
  })

  it('and what it was before are kept under the hashes of their texts, whatever became of them', async () => {
    const rig = await memoryRig()
    const key = `sk-ant-api03-${'a1B2'.repeat(12)}`
    await put(rig, 'a.md', topic('One.'))
    writeFileSync(join(rig.dir, 'MEMORY.md'), `- [A thing](a.md) — use ${key}\n`)
    writeFileSync(join(rig.dir, 'a.md'), topic(`The key is ${key}.`))
    await put(rig, 'a.md', topic(`Two, and ${key}.`))
    await put(rig, 'b.md', topic('Three.', 'Größe'))
    writeFileSync(join(rig.dir, 'b.md'), Buffer.from([0x2d, 0xff, 0x0a]))
    await put(rig, 'b.md', topic('Four.', 'Maß'))
    const kept = rig.store.history.prepare('SELECT key, text FROM contents').all() as { key: string; text: string }[]
    expect(kept.length).toBeGreaterThan(6)
    for (const { key, text } of kept) expect(key).toBe(hash('sha256', text))
  })

  it('is refused, and the refusal recorded, when it has no shape', async () => {
    const rig = await memoryRig()
    await expect(put(rig, 'a.md', 'no front matter')).rejects.toMatchObject({ code: 'REFUSED', reason: 'shape' })
    await expect(put(rig, 'MEMORY.md', 'just prose\n')).rejects.toMatchObject({ code: 'REFUSED', reason: 'shape' })
    await expect(put(rig, '../a.md', topic('x'))).rejects.toMatchObject({ code: 'REFUSED', reason: 'path' })
    await expect(put(rig, 'team/a.md', topic('x'))).rejects.toMatchObject({ code: 'REFUSED', reason: 'path' })
    const { items } = rig.memory.history.changes(rig.cwd, person, {
      file: undefined,
      limit: undefined,
      after: undefined,
    })
    expect(items.map(({ op, reason }) => `${op} ${reason.split(':')[0]}`)).toEqual([
      'refused path',
      'refused path',
      'refused shape',
      'refused shape',
    ])
    expect(existsSync(join(rig.home, 'memories', 'a.md'))).toBe(false)
  })

  it('of one project is never given to another', async () => {
    const rig = await memoryRig()
    await put(rig, 'a.md', topic('Only here.'))
    const elsewhere = join(rig.home, 'other')
    expect(await rig.memory.reading.list(elsewhere, person, { type: undefined, q: undefined })).toMatchObject({
      items: [],
    })
    expect(await rig.memory.reading.index(elsewhere, person)).toMatchObject({ content: '' })
    expect(() => rig.memory.reading.get(elsewhere, person, 'a.md', undefined)).toThrow('there is no memory a.md')
  })
})

describe('a write that has not seen what it replaces', () => {
  it('is refused with the present content', async () => {
    const rig = await memoryRig()
    const first = await put(rig, 'a.md', topic('One.'))
    await expect(put(rig, 'a.md', topic('Two.'), person, null)).rejects.toMatchObject({
      code: 'CONFLICT',
      details: { current: { hash: first.hash, content: topic('One.') } },
    })
    await expect(put(rig, 'a.md', topic('Two.'), person, 'f'.repeat(64))).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(read(rig, 'a.md')).toBe(topic('One.'))
    await put(rig, 'a.md', topic('Two.'), person, first.hash)
    expect(read(rig, 'a.md')).toBe(topic('Two.'))
  })

  it("never lets an agent write over a person's edit, made through us or around us", async () => {
    const rig = await memoryRig()
    await put(rig, 'a.md', topic('By a person.'))
    await expect(put(rig, 'a.md', topic('By an agent.'), agent)).rejects.toMatchObject({ code: 'CONFLICT' })
    await put(rig, 'b.md', topic('By an agent.'), agent)
    await put(rig, 'b.md', topic('By the same agent.'), agent)
    writeFileSync(join(rig.dir, 'b.md'), topic('In an editor.'))
    await expect(put(rig, 'b.md', topic('By an agent again.'), agent)).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(read(rig, 'b.md')).toBe(topic('In an editor.'))
  })
})

describe('undo', () => {
  it('puts back every byte of a change, of a deletion, and of itself', async () => {
    const rig = await memoryRig()
    await put(rig, 'a.md', `${topic('One.')}\r\n trailing  \n`)
    const before = tree(rig.dir)
    const { changeId = '' } = await put(rig, 'a.md', topic('Two.', 'Renamed'))
    const after = tree(rig.dir)
    const [undone] = await rig.memory.undo.change(Number(changeId), 'user')
    expect(tree(rig.dir)).toEqual(before)
    await rig.memory.undo.change(undone?.id ?? 0, 'user')
    expect(tree(rig.dir)).toEqual(after)

    const gone = await rig.memory.forget(rig.cwd, person, 'a.md', { reject: false, ifHash: undefined })
    expect(tree(rig.dir)['a.md']).toBeUndefined()
    await rig.memory.undo.change(Number(gone.changeId), 'user')
    expect(tree(rig.dir)).toEqual(after)
  })

  it('shows a conflict and changes nothing when the file was changed since', async () => {
    const rig = await memoryRig()
    const first = await put(rig, 'a.md', topic('One.'))
    writeFileSync(join(rig.dir, 'a.md'), topic('In an editor.'))
    const before = tree(rig.dir)
    await expect(rig.memory.undo.change(Number(first.changeId), 'user')).rejects.toMatchObject({
      code: 'CONFLICT',
      details: { conflicts: [{ file: 'a.md', changeId: '1', problem: 'was changed since' }] },
    })
    expect(tree(rig.dir)).toEqual(before)
  })

  it('is not offered for what held a credential', async () => {
    const rig = await memoryRig()
    const key = `sk-ant-api03-${'a1B2'.repeat(12)}`
    await put(rig, 'a.md', topic('One.'))
    writeFileSync(join(rig.dir, 'a.md'), topic(`The key is ${key}.`))
    const { changeId } = await put(rig, 'a.md', topic('Two.'))
    await expect(rig.memory.undo.change(Number(changeId), 'user')).rejects.toMatchObject({ code: 'CONFLICT' })
    for (const file of readdirSync(rig.state, { recursive: true, withFileTypes: true }))
      if (file.isFile()) expect(readFileSync(join(file.parentPath, file.name)).includes(key)).toBe(false)
  })
})

describe('what others do in the directory', () => {
  it('is journaled as theirs, once, and can be undone', async () => {
    const rig = await memoryRig()
    await put(rig, 'a.md', topic('One.'))
    writeFileSync(join(rig.dir, 'a.md'), topic('In an editor.'))
    writeFileSync(join(rig.dir, 'theirs.md'), topic('By another program.'))
    await rig.memory.lookEverywhere()
    await rig.memory.lookEverywhere()
    const { items } = rig.memory.history.changes(rig.cwd, person, {
      file: undefined,
      limit: undefined,
      after: undefined,
    })
    expect(items.map(({ op, file, actor }) => `${op} ${file} ${actor}`).sort()).toEqual([
      'create a.md user',
      'create theirs.md external',
      'update a.md external',
    ])
    const edit = items.find(({ op }) => op === 'update')
    await rig.memory.undo.change(Number(edit?.id), 'user')
    expect(read(rig, 'a.md')).toBe(topic('One.'))
    rmSync(join(rig.dir, 'theirs.md'))
    await rig.memory.lookEverywhere()
    expect(
      rig.memory.history.changes(rig.cwd, person, { file: 'theirs.md', limit: 1, after: undefined }).items[0],
    ).toMatchObject({ op: 'delete', actor: 'external' })
    expect(rig.errors()).toEqual([])
  })
})

describe('a restart', () => {
  it("never repeats what others did: a person's later word stands", async () => {
    const rig = await memoryRig()
    await put(rig, 'a.md', topic('One.'))
    writeFileSync(join(rig.dir, 'a.md'), topic('Two, in an editor.'))
    await rig.memory.lookEverywhere()
    rig.store.close()
    writeFileSync(join(rig.dir, 'a.md'), topic('One.'))
    const again = await rig.open()
    expect(again.memory.recovery).toEqual({ completed: [], problems: [] })
    expect(read(rig, 'a.md')).toBe(topic('One.'))
  })

  it('does not take a file that cannot be read for one that is gone', async () => {
    const rig = await memoryRig()
    await put(rig, 'a.md', topic('One.'))
    linkSync(join(rig.dir, 'a.md'), join(rig.home, 'another-name'))
    await rig.memory.lookEverywhere()
    rmSync(join(rig.home, 'another-name'))
    rig.store.close()
    await rig.open()
    expect(read(rig, 'a.md')).toBe(topic('One.'))
  })
})

describe('credentials', () => {
  const key = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`
  const onDisk = (rig: Rig) =>
    readdirSync(rig.home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.parentPath !== rig.dir)
      .filter((entry) => readFileSync(join(entry.parentPath, entry.name)).includes(key.slice(4, 30)))
      .map((entry) => entry.name)

  it("leave no trace in the journal, whichever way they came: a person's index, a reason, a rejection, a name", async () => {
    const rig = await memoryRig()
    await put(rig, 'a.md', topic('One.'))
    writeFileSync(join(rig.dir, 'MEMORY.md'), `- [A](a.md) — use ${key}\n`)
    await rig.memory.put(rig.cwd, person, { file: 'b.md', content: topic('Two.') }, `because of ${key}`)
    writeFileSync(join(rig.dir, 'c.md'), topic(`The token is ${key}`))
    await rig.memory.forget(rig.cwd, person, 'c.md', { reject: true, ifHash: undefined })
    const { file } = await rig.memory.remember(rig.cwd, person, `the token is ${key} for CI`, undefined)
    expect(file).not.toContain(key.slice(4, 12).toLowerCase())
    await expect(put(rig, `k_${key}.md`, topic('Three.'))).rejects.toMatchObject({ reason: 'secret' })
    expect(onDisk(rig)).toEqual([])
  })

  it('leave no trace in what waits for review', async () => {
    const rig = await memoryRig({ review: 'required' })
    const { reviewId } = await put(rig, 'a.md', topic(`The token is ${key}`), agent)
    rig.memory.review.reject(Number(reviewId))
    expect(onDisk(rig)).toEqual([])
  })
})

describe('an agent', () => {
  it("may undo its own change, never a person's", async () => {
    const rig = await memoryRig()
    const own = await put(rig, 'a.md', topic('One.'), agent)
    await rig.memory.undo.change(Number(own.changeId), 'agent:api')
    const theirs = await put(rig, 'b.md', topic('Two.'))
    await expect(rig.memory.undo.change(Number(theirs.changeId), 'agent:api')).rejects.toMatchObject({
      reason: 'permission',
    })
    await expect(rig.memory.forget(rig.cwd, agent, 'b.md', { reject: true, ifHash: undefined })).rejects.toMatchObject({
      reason: 'permission',
    })
  })

  it('whose change waits for review is told at once what could never be applied', async () => {
    const rig = await memoryRig({ review: 'required' })
    const first = await put(rig, 'a.md', topic('By a person.'))
    await put(rig, 'a.md', topic('Edited by a person.'))
    await expect(put(rig, 'a.md', topic('By an agent.'), agent, first.hash)).rejects.toMatchObject({ code: 'CONFLICT' })
    await expect(put(rig, 'x.txt', topic('x'), agent)).rejects.toMatchObject({ reason: 'path' })
    expect(rig.memory.history.reviews().items).toEqual([])
  })
})

it('shows a memory as it was believed at a time', async () => {
  const rig = await memoryRig()
  await put(rig, 'a.md', topic('One.'))
  const between = rig.time.clock.now() + 1_000
  rig.time.pass(60_000)
  await put(rig, 'a.md', topic('Two.'))
  expect(rig.memory.reading.get(rig.cwd, person, 'a.md', between).content).toBe(topic('One.'))
  expect(rig.memory.reading.get(rig.cwd, person, 'a.md', undefined).content).toBe(topic('Two.'))
  expect(() => rig.memory.reading.get(rig.cwd, person, 'a.md', 0)).toThrow('at that time')
})

describe('a name that gives a credential away', () => {
  const file = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}.md`
  const all = { type: undefined, q: undefined }
  const listed = async (rig: Rig) =>
    (await rig.memory.reading.list(rig.cwd, person, all)).items.map((item) => item.file)

  it('is in no list, also before the daemon has scanned the directory', async () => {
    const rig = await memoryRig()
    await put(rig, 'a.md', topic('Alpha is first.', 'Alpha'))
    writeFileSync(join(rig.dir, file), topic('The key is the name.'))
    writeFileSync(join(rig.dir, 'by_hand.md'), topic('Written by hand.'))
    for (let asked = 0; asked < 3; asked++) expect((await listed(rig)).sort()).toEqual(['a.md', 'by_hand.md'])
    expect((await rig.memory.reading.list(rig.cwd, person, { ...all, type: 'project' })).items).toHaveLength(2)
  })

  it('is not given to recall once the directory was looked through, after a restart as well', async () => {
    const rig = await memoryRig()
    await put(rig, 'a.md', topic('Alpha is first.', 'Alpha'))
    writeFileSync(join(rig.dir, file), topic('The key is the name.'))
    for (const { memory } of [rig, await rig.open()]) {
      await memory.lookEverywhere()
      const { catalogue } = memory
      expect([...catalogue.open(rig.dir).memories.keys()]).toEqual(['a.md'])
      expect([catalogue.read(rig.dir, file), catalogue.read(rig.dir, 'a.md')?.file]).toEqual([undefined, 'a.md'])
    }
  })

  it('is recognised at every look, and in no journal', async () => {
    const rig = await memoryRig()
    await put(rig, 'a.md', topic('Alpha is first.', 'Alpha'))
    for (const body of ['The key is the name.', 'It still is.']) {
      writeFileSync(join(rig.dir, file), topic(body))
      await rig.memory.lookEverywhere()
    }
    expect(rig.saved.flatMap(({ files }) => files)).toEqual(['a.md'])
    expect(JSON.stringify(rig.store.history.prepare('SELECT * FROM changes').all())).not.toContain('ghp_')
    const names = createCredentialNames()
    expect([names.isKnown(file), await names.has(file), await names.has(file), names.isKnown(file)]).toEqual([
      false,
      true,
      true,
      true,
    ])
    expect([await names.has('a.md'), names.isKnown('a.md')]).toEqual([false, false])
  })
})

it('a memory that cannot be looked at is named with what is wrong and what helps', async () => {
  const rig = await memoryRig()
  await put(rig, 'a.md', topic('One.'))
  const path = join(rig.dir, 'a.md')
  linkSync(path, join(rig.home, 'another-name'))
  expect(() => rig.memory.reading.get(rig.cwd, person, 'a.md', undefined)).toThrow(
    /"?a\.md"? has another name elsewhere/,
  )
  await expect(put(rig, 'a.md', topic('Two.'))).rejects.toMatchObject({ code: 'REFUSED', reason: 'path' })
  rmSync(path)
  symlinkSync(join(rig.home, 'another-name'), path)
  await expect(put(rig, 'a.md', topic('Two.'))).rejects.toThrow(/"?a\.md"? is a link; links are not followed/)
  rmSync(path)
  mkdirSync(path)
  await expect(put(rig, 'a.md', topic('Two.'))).rejects.toThrow(/"?a\.md"? is not a plain file/)
})

it.each([
  ['ENOSPC', 'there is no space left', 'make room there, or make it writable for you'],
  ['EROFS', 'it is read-only', 'make room there, or make it writable for you'],
  ['EACCES', 'permission is denied', 'make it readable and writable for you'],
  ['EMFILE', 'too many files are open', 'raise the limit of open files, or end what opens them'],
])('a memory directory whose disk answers %s is named with the reason', (code, reason, hint) => {
  expect(explainDiskError('/m', Object.assign(new Error('x'), { code }))).toMatchObject({
    code: 'DEGRADED',
    message: `the memory directory /m cannot be used: ${reason} (${code})`,
    hint,
  })
})
