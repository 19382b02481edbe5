import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readExport } from '../../daemon/memory/export-file.ts'
import { nameAll } from '../../daemon/memory/import.ts'
import { exportOf, header, importInto, inPieces, linesOf, sealed, tree } from '../support/carry.ts'
import { memoryRig, person, type Rig, topic } from '../support/memory.ts'

const put = (rig: Rig, file: string, content: string, cwd = rig.cwd) =>
  rig.memory.put(cwd, person, { file, content }, 'test')
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
  await rig.memory.forget(rig.cwd, person, 'gone.md', { reject: false, ifHash: undefined })
  await put(rig, 'wrong.md', topic('The office is on the moon.', 'Wrong'))
  await rig.memory.forget(rig.cwd, person, 'wrong.md', { reject: true, ifHash: undefined })
  writeFileSync(join(rig.dir, 'MEMORY.md'), `# Mine\n\n${readFileSync(join(rig.dir, 'MEMORY.md'), 'utf8')}`)
  rig.time.pass(60_000)
  const other = join(rig.home, 'other')
  mkdirSync(other)
  const otherDir = rig.dirOf(other)
  return { rig, other, otherDir, file: await exportOf(rig, rig.cwd) }
}

describe('an import', () => {
  it('into an empty project brings every file to the byte, the index too, and what is rejected', async () => {
    const { rig, other, otherDir, file } = await twoProjects()
    const done = await importInto(rig, other, file)
    expect(done).toEqual({
      ...nothing,
      runId: expect.stringMatching(/^import-20260101T000200Z-[0-9a-f]{8}$/),
      created: ['a.md', 'sub/b.md', 'MEMORY.md'],
      tombstones: 1,
    })
    expect(tree(otherDir)).toEqual(tree(rig.dir))
    expect(changesOf(rig, other).map(({ op, file: name, runId }) => [op, name, runId === done.runId])).toEqual([
      ['create', 'MEMORY.md', true],
      ['create', 'sub/b.md', true],
      ['create', 'a.md', true],
    ])
    const known = changesOf(rig, other)
    await rig.memory.lookEverywhere()
    expect(changesOf(rig, other)).toEqual(known)
  })

  it('leaves out the history that earlier versions exported, and says of how many changes', async () => {
    const rig = await memoryRig()
    const now = topic('Now.')
    const version = (text: string) => ({ hash: sha256(text), text: sha256(text) })
    const change = { kind: 'change', at: header.at, file: 'a.md', undoable: true, actor: 'user', reason: 'x' }
    const done = await importInto(
      rig,
      rig.cwd,
      sealed([
        header,
        { kind: 'file', file: 'a.md', content: now },
        { kind: 'text', key: sha256('before'), text: 'before' },
        { kind: 'text', key: sha256(now), text: now },
        { ...change, op: 'create', before: null, after: version('before'), evidence: [], parts: [] },
        { ...change, op: 'update', before: version('before'), after: version(now), evidence: [], parts: [] },
      ]),
    )
    expect(done).toMatchObject({ created: ['a.md'], changes: 2 })
    expect(changesOf(rig, rig.cwd).map(({ op, reason }) => [op, reason])).toEqual([['create', 'imported']])
  })

  it('keeps no name that gives a credential away: not of a file, nor of a rejection', async () => {
    const rig = await memoryRig()
    const name = (n: number) => `password=hunter${n}secret.md`
    const done = await importInto(
      rig,
      rig.cwd,
      sealed([
        header,
        { kind: 'file', file: name(1), content: topic('Here.', 'Here') },
        { kind: 'tombstone', at: header.at, file: name(3), excerpt: 'x', values: [sha256('x')] },
      ]),
    )
    expect(done).toMatchObject({ refused: [{ file: name(1) }], tombstones: 1 })
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

  it('is one run: undone, the project is as it was, to the byte; imported again, nothing is rejected twice', async () => {
    const { rig, other, otherDir, file } = await twoProjects()
    await put(rig, 'mine.md', topic('Mine.', 'Mine'), other)
    const before = tree(otherDir)
    const { runId = '' } = await importInto(rig, other, file)
    expect(tree(otherDir)['MEMORY.md']).toBe(
      `${before['MEMORY.md']}- [Alpha](a.md) — What is known of Alpha\n- [Beta](sub/b.md) — What is known of Beta\n`,
    )
    await rig.memory.undo.run(runId, 'user')
    expect(tree(otherDir)).toEqual(before)
    expect(await importInto(rig, other, file)).toMatchObject({ created: ['a.md', 'sub/b.md'], tombstones: 0 })
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

    await rig.purges.purge(rig.memory.dirOf(other, person), person, 'a.md', { reject: false, ifHash: undefined })
    await rig.memory.undo.run(runId, 'user')
    expect(tree(otherDir)).toEqual({ 'MEMORY.md': mine, 'mine.md': topic('Mine.', 'Mine') })
  })

  it('keeps what is rejected there out, and brings what was rejected elsewhere', async () => {
    const { rig, other, file } = await twoProjects()
    await put(rig, 'x.md', topic('Two.'), other)
    await rig.memory.forget(other, person, 'x.md', { reject: true, ifHash: undefined })
    expect(await importInto(rig, other, file)).toMatchObject({
      created: ['sub/b.md'],
      refused: [{ file: 'a.md', reason: expect.stringMatching(/^rejected-value: /) }],
      tombstones: 1,
    })
    expect(changesOf(rig, other, 'a.md').map(({ op }) => op)).toEqual(['refused'])
    await expect(rig.memory.remember(other, person, 'The office is on the moon', undefined)).rejects.toMatchObject({
      reason: 'rejected-value',
    })
  })

  it('takes credentials out of files and rejections', async () => {
    const { rig, other } = await twoProjects()
    const key = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`
    const file = sealed([
      header,
      { kind: 'file', file: 'a.md', content: topic(`The token is ${key}`) },
      { kind: 'tombstone', at: header.at, file: 'b.md', excerpt: key, values: [sha256('x')] },
    ])
    expect(await importInto(rig, other, file)).toMatchObject({ created: ['a.md'], tombstones: 1 })
    const found = readdirSync(rig.home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .filter((entry) => readFileSync(join(entry.parentPath, entry.name)).includes(key.slice(4, 30)))
    expect(found.map(({ name }) => name)).toEqual([])
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

  it('that cannot be written leaves neither files nor rejections', async () => {
    const { rig, other, otherDir, file } = await twoProjects()
    await put(rig, 'mine.md', topic('Mine.'), other)
    const before = { files: tree(otherDir), changes: changesOf(rig, other).length }
    const rows = (table: string) => rig.store.history.prepare(`SELECT count(*) FROM ${table}`).pluck().get()
    const kept = [rows('contents'), rows('tombstones')]
    // After the last look and before the writes: as if another program saved a file of that name just then.
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

const good = { kind: 'file', file: 'a.md', content: topic('One.') }
const rejection = { kind: 'tombstone', at: header.at, file: 'x', excerpt: '', values: [] }
const raw = (...lines: string[]) => `${JSON.stringify(header)}\n${lines.join('\n')}\n`
/** What is wrong with a file → the words it is refused with. Line 2 is a good one unless it says otherwise. */
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
  ['a hash that is none', sealed([header, { ...rejection, values: ['abc'] }]), /line 2 .* values/],
  ['a time that is none', sealed([header, { ...rejection, at: 'yesterday' }]), /line 2 .* at/],
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

describe('a file that is read', () => {
  const file = (name: string, content = 'x') => ({ kind: 'file', file: name, content })
  const caps = { bytes: 10_000, lineBytes: 1_000, lines: 5, files: 3, heldBytes: 2_000 }
  const read = (text: string, most: Parameters<typeof readExport>[1] = caps, pieceBytes?: number) =>
    readExport(inPieces(Buffer.from(text), pieceBytes), most)

  it.each([
    ['lines', sealed([header, ...Array.from({ length: 4 }, () => rejection)]), /^line 6 of the file is one more/],
    [
      'files',
      sealed([header, ...['a', 'b', 'c', 'd'].map((name) => file(name))]),
      /^line 5 of the file is one file more/,
    ],
    [
      'bytes in files',
      sealed([header, ...['a', 'b', 'c'].map((name) => file(name, 'y'.repeat(900)))]),
      /^line 4 .* 2000/,
    ],
    [
      'bytes in a line',
      sealed([header, file('a', 'y'.repeat(1_000))]),
      /^line 2 of the file is longer than 1000 bytes/,
    ],
  ])('has no more %s than there is room for', async (_what, text, words) => {
    await expect(read(text)).rejects.toMatchObject({ code: 'BAD_REQUEST', message: words })
  })

  it('holds no more rejections than there is room for', async () => {
    const many = Array.from({ length: 3 }, () => ({ ...rejection, excerpt: 'y'.repeat(700) }))
    await expect(read(sealed([header, ...many]))).rejects.toMatchObject({ message: /^line 4 .* 2000 bytes in all/ })
  })

  it('has no more bytes than there is room for', async () => {
    const reading = read(sealed([header, file('a', 'y'.repeat(200))]), { ...caps, bytes: 300 })
    await expect(reading).rejects.toMatchObject({ message: /^line 2 .* 300 bytes an import takes/ })
  })

  it.each([1, 2, 7, 1_000_000])('is the same in pieces of %i bytes', async (pieceBytes) => {
    const { files } = await read(sealed([header, file('ä.md', 'öü\n€😀')]), { ...caps, lines: 9 }, pieceBytes)
    expect(files.get('ä.md')?.toString()).toBe('öü\n€😀')
  })

  it('needs no newline after the end', async () => {
    expect(await read(sealed([header]).trimEnd())).toEqual(await read(sealed([header])))
  })
})

/** A directory where every file's hash is what stands after its name. */
const occupied = (files: Record<string, string>) => ({
  names: Object.keys(files),
  hashAt: (file: string) => files[file] || undefined,
})
const coming = (...files: [string, string][]) => files.map(([file, hash]) => ({ file, hashes: [hash] }))
const told = (namings: ReturnType<typeof nameAll>) =>
  namings.map((naming) =>
    naming.is === 'refused' ? `${naming.file}: refused` : `${naming.file}: ${naming.is} ${naming.as}`,
  )

describe('what comes from elsewhere', () => {
  it.each([
    ['keeps its name where that is free', {}, [['a.md', '1']], ['a.md: created a.md']],
    ['is not needed where it is', { 'a.md': '1' }, [['a.md', '1']], ['a.md: skipped a.md']],
    ['gets a free name beside another', { 'a.md': '1', 'a_2.md': '2' }, [['a.md', '3']], ['a.md: created a_3.md']],
    [
      'is found under the name it got before',
      { 'a.md': '1', 'a_2.md': '3' },
      [['a.md', '3']],
      ['a.md: skipped a_2.md'],
    ],
    ['does not stand beside a twin', { 'Note.md': '1' }, [['note.md', '2']], ['note.md: created note_2.md']],
    ['is found under a twin of its name', { 'Note.md': '1' }, [['note.md', '1']], ['note.md: skipped Note.md']],
    ['goes into no folder beside a twin', { 'Sub/a.md': '1' }, [['sub/b.md', '2']], ['sub/b.md: refused']],
    ['takes no name of what cannot be read', { 'a.md': '' }, [['a.md', '1']], ['a.md: created a_2.md']],
    ['takes no name of a folder', { sub: '', 'sub/x.md': '1' }, [['sub/y.md', '2']], ['sub/y.md: created sub/y.md']],
  ] as [string, Record<string, string>, [string, string][], string[]][])('%s', (_what, files, incoming, namings) => {
    expect(told(nameAll(coming(...incoming), occupied(files)))).toEqual(namings)
  })

  it('does not take names from each other', () => {
    const incoming = coming(['A.md', '1'], ['a.md', '2'], ['a_2.md', '3'])
    expect(told(nameAll(incoming, occupied({})))).toEqual([
      'A.md: created A.md',
      'a.md: created a_2.md',
      'a_2.md: created a_2_2.md',
    ])
  })

  it('is refused when there are too many of its name', () => {
    const files = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [n === 0 ? 'a.md' : `a_${n + 1}.md`, 'x']))
    expect(told(nameAll(coming(['a.md', '1']), occupied(files)))).toEqual(['a.md: refused'])
  })
})
