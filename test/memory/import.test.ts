import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { exportOf, header, importInto, linesOf, sealed, tree } from '../support/carry.ts'
import { memoryRig, person, type Rig, topic } from '../support/memory.ts'

const put = (rig: Rig, file: string, content: string, cwd = rig.cwd) =>
  rig.memory.writing.put(cwd, person, { file, content }, 'test')
const changesOf = (rig: Rig, cwd: string, file?: string) =>
  rig.memory.history.changes(cwd, person, { file, limit: 999, after: undefined }).items
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const nothing = { created: [], skipped: [], renamed: [], refused: [], changes: 0, tombstones: 0 }

/** A project with a history, and another, empty one on the same machine. */
async function twoProjects(options: Parameters<typeof memoryRig>[0] = {}) {
  const rig = await memoryRig(options)
  await put(rig, 'a.md', topic('One.', 'Alpha'))
  rig.time.pass(60_000)
  await put(rig, 'a.md', topic('Two.', 'Alpha'))
  await put(rig, 'sub/b.md', topic('Three.', 'Beta'))
  await put(rig, 'gone.md', topic('Not any more.', 'Gone'))
  await rig.memory.writing.forget(rig.cwd, person, 'gone.md', { reject: false, ifHash: undefined })
  await put(rig, 'wrong.md', topic('The office is on the moon.', 'Wrong'))
  await rig.memory.writing.forget(rig.cwd, person, 'wrong.md', { reject: true, ifHash: undefined })
  writeFileSync(join(rig.dir, 'MEMORY.md'), `# Mine\n\n${readFileSync(join(rig.dir, 'MEMORY.md'), 'utf8')}`)
  rig.time.pass(60_000)
  const other = join(rig.home, 'other')
  mkdirSync(other)
  const otherDir = join(rig.home, 'memories', other.replaceAll('/', '-'))
  return { rig, other, otherDir, file: await exportOf(rig, rig.cwd) }
}

describe('an import', () => {
  it('into an empty project brings every file to the byte, the index too, and the whole history', async () => {
    const { rig, other, otherDir, file } = await twoProjects()
    const done = await importInto(rig, other, file)
    expect(done).toEqual({
      ...nothing,
      runId: expect.stringMatching(/^import-20260101T000200Z-[0-9a-f]{8}$/),
      created: ['a.md', 'sub/b.md', 'MEMORY.md'],
      changes: 8,
      tombstones: 1,
    })
    expect(tree(otherDir)).toEqual(tree(rig.dir))
    const told = (cwd: string) =>
      changesOf(rig, cwd)
        .filter(({ reason }) => reason !== 'imported')
        .map(({ id: _, ...same }) => same)
    expect(told(other)).toEqual(told(rig.cwd))
    expect(changesOf(rig, other).filter(({ runId }) => runId === done.runId)).toHaveLength(3)
    const then = Date.UTC(2026, 0, 1, 0, 0, 30)
    expect(rig.memory.reading.get(other, person, 'a.md', then).content).toBe(topic('One.', 'Alpha'))
    const known = changesOf(rig, other)
    await rig.memory.lookEverywhere()
    expect(changesOf(rig, other)).toEqual(known)
  })

  it('keeps no name that gives a credential away: not of a file, a gone one or a rejection', async () => {
    const rig = await memoryRig()
    const name = (n: number) => `password=hunter${n}secret.md`
    const text = topic('Was here.', 'Gone')
    const version = { hash: sha256(text), text: sha256(text) }
    const change = {
      kind: 'change',
      at: header.at,
      file: name(2),
      undoable: true,
      actor: 'user',
      reason: 'x',
      evidence: [],
    }
    const done = await importInto(
      rig,
      rig.cwd,
      sealed([
        header,
        { kind: 'file', file: name(1), content: topic('Here.', 'Here') },
        { kind: 'text', key: sha256(text), text },
        { ...change, op: 'create', before: null, after: version, parts: [] },
        { ...change, op: 'delete', before: version, after: null, parts: [] },
        { kind: 'tombstone', at: header.at, file: name(3), excerpt: 'x', values: [sha256('x')] },
      ]),
    )
    expect(done).toMatchObject({ refused: [{ file: name(1) }], changes: 0, tombstones: 1 })
    const kept = JSON.stringify([changesOf(rig, rig.cwd), rig.memory.history.tombstones()])
    expect(kept.match(/hunter\d|redacted:\w+/g)).toEqual(['redacted:password', 'redacted:password'])
  })

  it('of the same file changes nothing the second time, though some of it was renamed, cleaned or refused', async () => {
    const { rig, other, otherDir, file } = await twoProjects()
    const key = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`
    const lines = linesOf(file).slice(0, -1)
    lines.push({ kind: 'file', file: 'key.md', content: topic(`The token is ${key}`) })
    lines.push({ kind: 'file', file: '../out.md', content: topic('Outside.') })
    lines.push({ kind: 'file', file: 'A.md', content: topic('A twin.') })
    await put(rig, 'a.md', topic('Mine.', 'Mine'), other)
    await put(rig, 'key.md', topic('Mine.', 'Mine'), other)
    const first = await importInto(rig, other, sealed(lines))
    expect(first).toMatchObject({
      created: ['sub/b.md'],
      renamed: [
        { file: 'A.md', as: 'A_2.md' },
        { file: 'a.md', as: 'a_3.md' },
        { file: 'key.md', as: 'key_2.md' },
      ],
      refused: [{ file: '../out.md', reason: expect.stringMatching(/^path: /) }],
    })
    const before = { files: tree(otherDir), changes: changesOf(rig, other) }
    expect(await importInto(rig, other, sealed(lines))).toEqual({
      ...nothing,
      skipped: ['A.md', 'a.md', 'key.md', 'sub/b.md'],
      refused: first.refused,
    })
    expect({ files: tree(otherDir), changes: changesOf(rig, other) }).toEqual(before)
    expect(JSON.stringify(before)).not.toContain(key)
  })

  it('is one run: undone, the project is as it was, to the byte; imported again, the history is not told twice', async () => {
    const { rig, other, otherDir, file } = await twoProjects()
    await put(rig, 'mine.md', topic('Mine.', 'Mine'), other)
    const before = tree(otherDir)
    const { runId = '' } = await importInto(rig, other, file)
    expect(tree(otherDir)['MEMORY.md']).toBe(
      `${before['MEMORY.md']}- [Alpha](a.md) — What is known of Alpha\n- [Beta](sub/b.md) — What is known of Beta\n`,
    )
    await rig.memory.undo.run(runId, 'user')
    expect(tree(otherDir)).toEqual(before)
    expect(await importInto(rig, other, file)).toMatchObject({
      created: ['a.md', 'sub/b.md'],
      changes: 0,
      tombstones: 0,
    })
  })

  it('can be undone after others wrote or were purged, as one, and that too', async () => {
    const { rig, other, otherDir, file } = await twoProjects()
    const { runId = '' } = await importInto(rig, other, file)
    await put(rig, 'mine.md', topic('Mine.', 'Mine'), other)
    const before = tree(otherDir)
    const undone = await rig.memory.undo.run(runId, 'user')
    const mine = '# Mine\n\n- [Mine](mine.md) — What is known of Mine\n'
    expect(tree(otherDir)).toEqual({ 'MEMORY.md': mine, 'mine.md': topic('Mine.', 'Mine') })
    expect(rig.memory.history.run(runId).undone).toBe(true)

    await rig.memory.undo.run(undone.runId, 'user')
    expect(tree(otherDir)).toEqual(before)

    await rig.memory.writing.forget(other, person, 'a.md', { reject: false, purge: true, ifHash: undefined })
    await rig.memory.undo.run(runId, 'user')
    expect(tree(otherDir)).toEqual({ 'MEMORY.md': mine, 'mine.md': topic('Mine.', 'Mine') })
  })

  it('brings changes that can be undone where they are now', async () => {
    const { rig, other, otherDir, file } = await twoProjects()
    await importInto(rig, other, file)
    const update = changesOf(rig, other, 'a.md').find(({ op }) => op === 'update')
    await rig.memory.undo.change(Number(update?.id), 'user')
    expect(tree(otherDir)['a.md']).toBe(topic('One.', 'Alpha'))
    const deletion = changesOf(rig, other, 'gone.md').find(({ op }) => op === 'delete')
    await rig.memory.undo.change(Number(deletion?.id), 'user')
    expect(tree(otherDir)['gone.md']).toBe(topic('Not any more.', 'Gone'))
  })

  it('keeps what is rejected there out, and brings what was rejected elsewhere', async () => {
    const { rig, other, file } = await twoProjects()
    await put(rig, 'x.md', topic('Two.'), other)
    await rig.memory.writing.forget(other, person, 'x.md', { reject: true, ifHash: undefined })
    expect(await importInto(rig, other, file)).toMatchObject({
      created: ['sub/b.md'],
      refused: [{ file: 'a.md', reason: expect.stringMatching(/^rejected-value: /) }],
      tombstones: 1,
    })
    expect(changesOf(rig, other, 'a.md').map(({ op }) => op)).toEqual(['refused'])
    await expect(
      rig.memory.writing.remember(other, person, 'The office is on the moon', undefined),
    ).rejects.toMatchObject({
      reason: 'rejected-value',
    })
  })

  it('takes credentials out of files, history, reasons, evidence and rejections', async () => {
    const { rig, other } = await twoProjects()
    const key = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`
    const secret = topic(`The token is ${key}`)
    const evidence = [{ sessionId: 's', messageIds: ['m'], excerpt: `use ${key}`, at: header.at }]
    const change = {
      kind: 'change',
      at: header.at,
      file: 'a.md',
      op: 'create',
      before: null,
      undoable: true,
      parts: [],
    }
    const file = sealed([
      header,
      { kind: 'file', file: 'a.md', content: secret },
      { kind: 'text', key: sha256(secret), text: secret },
      {
        ...change,
        after: { hash: sha256(secret), text: sha256(secret) },
        actor: 'agent:pi',
        reason: `told ${key}`,
        evidence,
      },
      { kind: 'tombstone', at: header.at, file: 'b.md', excerpt: key, values: [sha256('x')] },
    ])
    const { created } = await importInto(rig, other, file)
    expect(created).toEqual(['a.md'])
    expect(rig.memory.reading.get(other, person, 'a.md', undefined).evidence).toHaveLength(1)
    const found = readdirSync(rig.home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .filter((entry) => readFileSync(join(entry.parentPath, entry.name)).includes(key.slice(4, 30)))
    expect(found.map(({ name }) => name)).toEqual([])
  })

  it('lets nothing be undone to a text that does not give the hash it claims', async () => {
    const { rig, other } = await twoProjects()
    const now = topic('Now.')
    const change = {
      kind: 'change',
      at: header.at,
      op: 'update',
      undoable: true,
      actor: 'user',
      reason: 'x',
      evidence: [],
    }
    const file = sealed([
      header,
      { kind: 'file', file: 'a.md', content: now },
      { kind: 'text', key: sha256('false'), text: 'false' },
      {
        ...change,
        file: 'a.md',
        before: { hash: sha256('true'), text: sha256('false') },
        after: { hash: sha256(now), text: null },
        parts: [],
      },
    ])
    await importInto(rig, other, file)
    expect(changesOf(rig, other, 'a.md').map(({ op, undoable }) => `${op} ${undoable}`)).toEqual([
      'create true',
      'update false',
    ])
  })

  it('gives a run of the file another name where there is one of its name already', async () => {
    const { rig, other } = await twoProjects()
    const content = topic('By a run.')
    const version = { hash: sha256(content), text: null }
    const change = { kind: 'change', at: header.at, op: 'create', before: null, after: version, undoable: true }
    const run = { ...change, actor: 'agent:dream', reason: 'x', run: 'dream-1', evidence: [], parts: [] }
    const fileOf = (name: string) =>
      sealed([header, { kind: 'file', file: name, content: topic(`${name} by a run.`) }, { ...run, file: name }])
    await importInto(rig, other, fileOf('one.md'))
    await importInto(rig, other, fileOf('two.md'))
    const runs = (file: string) => changesOf(rig, other, file).map(({ runId }) => runId)
    expect([runs('one.md')[1], runs('two.md')[1]]).toEqual(['dream-1', 'dream-1-2'])
  })

  it.each([
    ['off', 'MEMORY.md', 'team/x.md'],
    ['on', 'team/MEMORY.md', undefined],
  ])('takes team memories only where they are on: %s', async (team, index, refused) => {
    const { rig, other, otherDir } = await twoProjects({ team: team === 'on' })
    const content = topic('For all.')
    const done = await importInto(
      rig,
      other,
      sealed([header, ...['own.md', 'team/x.md'].map((file) => ({ kind: 'file', file, content }))]),
    )
    expect(done.refused.map(({ file }) => file)).toEqual(refused === undefined ? [] : [refused])
    expect(Object.keys(tree(otherDir))).toContain(index)
  })

  it('makes an index of its own where the one of the file is none, or points to what did not come', async () => {
    const { rig, other, otherDir } = await twoProjects()
    const prose = 'Just prose.\n'
    const first = await importInto(
      rig,
      other,
      sealed([
        header,
        { kind: 'file', file: 'MEMORY.md', content: prose },
        { kind: 'file', file: 'a.md', content: topic('One.', 'Alpha') },
      ]),
    )
    expect(first).toMatchObject({ created: ['a.md'], refused: [{ file: 'MEMORY.md' }] })
    expect(tree(otherDir)['MEMORY.md']).toBe('- [Alpha](a.md) — What is known of Alpha\n')
    const third = join(rig.home, 'third')
    await importInto(
      rig,
      third,
      sealed([
        header,
        { kind: 'file', file: 'MEMORY.md', content: '- [Bad](bad.md) — bad\n- [Alpha](a.md) — words of mine\n' },
        { kind: 'file', file: 'a.md', content: topic('One.', 'Alpha') },
        { kind: 'file', file: 'bad.md', content: 'no shape' },
      ]),
    )
    expect((await rig.memory.reading.index(third, person)).content).toBe('- [Alpha](a.md) — What is known of Alpha\n')
  })

  it('that cannot be written leaves neither files nor history nor rejections', async () => {
    const { rig, other, otherDir, file } = await twoProjects()
    await put(rig, 'mine.md', topic('Mine.'), other)
    const before = { files: tree(otherDir), changes: changesOf(rig, other).length }
    const rows = (table: string) => rig.store.history.prepare(`SELECT count(*) FROM ${table}`).pluck().get()
    const kept = [rows('contents'), rows('tombstones')]
    // After the last look and before the writes: as if somebody saved a file of that name just then.
    rig.store.history.function('take_name', () => {
      mkdirSync(join(otherDir, 'sub'), { recursive: true })
      writeFileSync(join(otherDir, 'sub/b.md'), topic('Saved meanwhile.'))
      return 1
    })
    rig.store.history.exec(`CREATE TEMP TRIGGER overtake AFTER INSERT ON main.changes
      WHEN NEW.reason = 'imported' AND NEW.file = 'sub/b.md' BEGIN SELECT take_name(); END`)
    await expect(importInto(rig, other, file)).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(tree(otherDir)).toEqual({ ...before.files, 'sub/b.md': topic('Saved meanwhile.') })
    expect(changesOf(rig, other).filter(({ op }) => op !== 'refused')).toHaveLength(before.changes)
    expect([rows('contents'), rows('tombstones')]).toEqual(kept)
  })
})

/** What is wrong with a file → the words it is refused with. Line 2 is a good one unless it says otherwise. */
const change = {
  kind: 'change',
  at: header.at,
  file: 'a.md',
  op: 'create',
  before: null,
  after: null,
  undoable: true,
  actor: 'user',
  reason: 'x',
  evidence: [],
  parts: [],
}
const good = { kind: 'file', file: 'a.md', content: topic('One.') }
const raw = (...lines: string[]) => `${JSON.stringify(header)}\n${lines.join('\n')}\n`
const hostile: [string, string | Buffer, RegExp][] = [
  ['nothing', '', /cut off/],
  ['another file', 'hello\n', /line 1 .* not JSON/],
  ['JSON of another kind', '{"a":1}\n', /line 1 .* not the header/],
  ['null', 'null\n', /line 1 .* not the header/],
  ['another version', sealed([{ ...header, version: 2 }]), /line 1 .* version 2; this memoryd reads version 1/],
  ['no header', sealed([good]), /line 1 .* not the header/],
  ['two headers', sealed([header, header]), /line 2 .* second header/],
  ['an unknown kind', sealed([header, { kind: 'surprise' }]), /line 2 .* does not fit: kind/],
  ['an unknown field', sealed([header, { ...good, mode: 'x' }]), /line 2 .* does not fit/],
  ['a field of the wrong type', sealed([header, { ...good, content: 1 }]), /line 2 .* content/],
  ['a list', sealed([header, [1, 2]]), /line 2 .* does not fit/],
  ['an attempt at the prototype', raw('{"__proto__":{"kind":"file"},"file":"a.md","content":""}'), /line 2/],
  ['a name twice', sealed([header, good, good]), /line 3 .* again/],
  ['a content that is not base64', sealed([header, { ...good, encoding: 'base64' }]), /line 2 .* base64/],
  ['a text under another key', sealed([header, { kind: 'text', key: sha256('x'), text: 'y' }]), /line 2 .* key/],
  [
    'a text twice',
    sealed([header, ...Array(2).fill({ kind: 'text', key: sha256('x'), text: 'x' })]),
    /line 3 .* again/,
  ],
  [
    'a change whose text is missing',
    sealed([header, good, { ...change, after: { hash: sha256('x'), text: sha256('x') } }]),
    /line 3 .* needs a text/,
  ],
  ['a hash that is none', sealed([header, { ...change, after: { hash: 'abc', text: null } }]), /line 2 .* after\.hash/],
  ['an actor nobody can be', sealed([header, { ...change, actor: 'root' }]), /line 2 .* actor/],
  ['a time that is none', sealed([header, { ...change, at: 'yesterday' }]), /line 2 .* at/],
  ['an empty line', raw(JSON.stringify(good), '', JSON.stringify(good)), /line 3 .* is empty/],
  [
    'bytes that are no text',
    Buffer.concat([
      Buffer.from(`${JSON.stringify(header)}
`),
      Buffer.from([0xff, 0x0a]),
    ]),
    /line 2 .* not UTF-8/,
  ],
  ['a line without end', raw(`{"kind":"file","file":"a.md","content":"${'x'.repeat(9_000_000)}`), /line 2 .* longer/],
  ['JSON as deep as it goes', raw('['.repeat(3_000_000)), /line 2 .* nests deeper/],
  ['JSON of a million values', raw(`[${'[],'.repeat(1_000_000)}[]]`), /line 2 .* more values/],
  ['a file that was cut at a line', sealed([header, good]).split('\n').slice(0, 2).join('\n'), /cut off/],
  ['a file that was cut in a line', sealed([header, good]).slice(0, -20), /line 3 .* not JSON/],
  ['a file that was changed', sealed([header, good]).replace('One.', 'Two.'), /line 3 .* checksum/],
  [
    'a file with a line too few',
    `${sealed([header, good]).replace('"files":1', '"files":2')}`,
    /line 3 .* 2 files, but 1/,
  ],
  ['more after the end', `${sealed([header])}${JSON.stringify(good)}\n`, /line 3 .* after the end/],
]

describe('a file that is not what memoryd export writes', () => {
  it.each(hostile)('is refused with its line and changes nothing: %s', async (_what, file, words) => {
    const rig = await memoryRig()
    const before = readdirSync(rig.state)
    await expect(importInto(rig, rig.cwd, file)).rejects.toMatchObject({ code: 'BAD_REQUEST', message: words })
    expect(existsSync(rig.dir)).toBe(false)
    expect(readdirSync(rig.state)).toEqual(before)
    expect(changesOf(rig, rig.cwd)).toEqual([])
  })

  it('is told apart from one whose files only do not belong here', async () => {
    const rig = await memoryRig()
    const content = topic('One.')
    const names = ['../up.md', '/etc/x.md', 'logs/x.md', '.hidden.md', 'x.txt', 'a\u0000.md', 'MEMORY.MD', 'con.md']
    const done = await importInto(
      rig,
      rig.cwd,
      sealed([
        header,
        ...names.map((file) => ({ kind: 'file', file, content })),
        { kind: 'file', file: 'shape.md', content: 'no front matter' },
        { kind: 'file', file: 'bytes.md', content: '/w==', encoding: 'base64' },
        { kind: 'file', file: 'large.md', content: topic('x'.repeat(70_000)) },
        { kind: 'file', file: 'fine.md', content },
      ]),
    )
    expect(done.created).toEqual(['fine.md'])
    expect(done.refused.map(({ file, reason }) => `${file} ${reason.split(':')[0]}`).sort()).toEqual(
      [...names.map((name) => `${name} path`), 'bytes.md shape', 'large.md shape', 'shape.md shape'].sort(),
    )
    expect(Object.keys(tree(rig.dir))).toEqual(['MEMORY.md', 'fine.md'])
  })
})
