import { createHash } from 'node:crypto'
import { copyFileSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createRenderingTable } from '../../daemon/agent/rendering.ts'
import { isUsable, listBackups } from '../../daemon/db/backup.ts'
import { openDatabase } from '../../daemon/db/database.ts'
import { historyMigrations } from '../../daemon/db/history-schema.ts'
import { waitsForPurge } from '../../daemon/housekeeping/purge.ts'
import { distinctPhrases, phrasesOf } from '../../daemon/housekeeping/scrub.ts'
import type { NewChange } from '../../daemon/memory/journal.ts'
import { createReviews } from '../../daemon/memory/review.ts'
import { createTombstones } from '../../daemon/memory/tombstones.ts'
import { overwritePage } from '../support/damage.ts'
import { memoryRig } from '../support/memory.ts'
import { missing, traces } from '../support/traces.ts'

const NOW = Date.UTC(2026, 0, 15, 12)
const DAY = 86_400_000
let DIR = ''
const SECRET = 'The vault opens with quagmire-walnut'
const OLDER = 'The vault opened with plankton-otter'

function change(
  file: string,
  before: string | undefined,
  after: string | undefined,
  more: Partial<NewChange> = {},
): NewChange {
  const version = (text: string | undefined) => (text === undefined ? undefined : { hash: hashOf(text), text })
  return {
    at: NOW,
    dir: DIR,
    file,
    op: after === undefined ? 'delete' : before === undefined ? 'create' : 'update',
    actor: 'user',
    reason: 'written',
    runId: undefined,
    before: version(before),
    after: version(after),
    undoable: true,
    evidence: [],
    ...more,
  }
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')

const said = (excerpt: string) => ({ sessionId: 's', messageIds: ['m'], excerpt, at: '2026-01-01T00:00:00Z' })

/** A state folder, and a history in it where `vault.md` had two versions and other memories are around it. */
async function makeState() {
  const rig = await memoryRig()
  const { state, core } = rig
  DIR = rig.dir
  mkdirSync(DIR, { recursive: true })
  let first: typeof rig | undefined = rig
  const open = async () => {
    const { store, memory, purges } = first ?? (await rig.open())
    first = undefined
    const { history: db } = store
    const pending = () => db.prepare('SELECT change, file FROM purges').all()
    return { store, db, journal: memory.journal, purges, pending, finish: purges.finish }
  }
  const fill = async () => {
    const opened = await open()
    const { journal } = opened
    const index = (...lines: string[]) => lines.map((line) => `${line}\n`).join('')
    const other = '- [Other](other.md) — Something else'
    journal.append([
      change('other.md', undefined, 'Something else to know', {
        parts: [change('MEMORY.md', undefined, index(other))],
      }),
    ])
    const olderLine = '- [Vault](vault.md) — plankton-otter'
    const line = '- [Vault](vault.md) — quagmire-walnut'
    journal.append([
      change('vault.md', undefined, OLDER, {
        reason: 'because of plankton-otter',
        evidence: [said('I said plankton-otter at breakfast')],
        parts: [change('MEMORY.md', index(other), index(other, olderLine), { reason: 'because of plankton-otter' })],
      }),
    ])
    journal.append([
      change('vault.md', OLDER, SECRET, { parts: [change('MEMORY.md', index(other, olderLine), index(other, line))] }),
    ])
    return { ...opened, index, other, line }
  }
  const purge = ({ journal }: Pick<Awaited<ReturnType<typeof open>>, 'journal'>) =>
    journal.append([change('vault.md', undefined, undefined, { leaves: 'nothing', reason: 'purged' })])[0] as number
  return { state, layout: core.layout, open, fill, purge }
}

const words = ['quagmire-walnut', 'plankton-otter', 'vault']

describe('a purge', () => {
  it('takes every version, evidence, reason and index line out of the journal, and its pages', async () => {
    const { state, fill, purge } = await makeState()
    const opened = await fill()
    expect(missing(state, words)).toEqual([])
    const id = purge(opened)
    expect(await opened.finish()).toEqual([{ change: id, versions: 2, deleted: [] }])
    expect(traces(state, words)).toEqual([])
    expect(opened.pending()).toEqual([])
    expect(opened.db.pragma('integrity_check', { simple: true })).toBe('ok')
    expect(opened.db.pragma('foreign_key_check')).toEqual([])
    const rows = opened.journal.list({ dir: DIR, limit: 10 })
    expect(rows.map(({ file, op, reason, evidence, undoable }) => ({ file, op, reason, evidence, undoable }))).toEqual([
      { file: `purged-${id}`, op: 'delete', reason: 'purged', evidence: [], undoable: false },
      { file: `purged-${id}`, op: 'update', reason: 'purged', evidence: [], undoable: false },
      { file: `purged-${id}`, op: 'create', reason: 'purged', evidence: [], undoable: false },
      { file: 'other.md', op: 'create', reason: 'written', evidence: [], undoable: true },
    ])
    const versions = opened.journal.list({ dir: DIR, file: 'MEMORY.md', limit: 10 })
    expect(versions.map(({ before, after, undoable }) => [before?.text, after?.text, undoable])).toEqual([
      [opened.index(opened.other), opened.index(opened.other), false],
      [opened.index(opened.other), opened.index(opened.other), true],
      [undefined, opened.index(opened.other), true],
    ])
  })

  it('is found there without it: what is only deleted stays in the journal and in its backup', async () => {
    const { state, fill, layout } = await makeState()
    const { store, journal } = await fill()
    journal.append([change('vault.md', SECRET, undefined)])
    await store.backUpDaily(NOW)
    store.close()
    expect(missing(layout.backups, words)).toEqual([])
    expect(missing(state, words)).toEqual([])
  })

  it('reaches the same text under another name, which keeps its place and its past', async () => {
    const { state, fill, purge } = await makeState()
    const opened = await fill()
    opened.journal.append([
      change('copy.md', 'Before it was a copy', SECRET),
      change('copy.md', SECRET, 'After it was a copy'),
    ])
    purge(opened)
    await opened.finish()
    expect(traces(state, ['quagmire-walnut'])).toEqual([])
    const copies = opened.journal.list({ dir: DIR, file: 'copy.md', limit: 10 })
    expect(copies.map(({ before, after, undoable }) => [before, after, undoable])).toEqual([
      [
        { hash: hashOf(SECRET), text: undefined },
        { hash: hashOf('After it was a copy'), text: 'After it was a copy' },
        false,
      ],
      [
        { hash: hashOf('Before it was a copy'), text: 'Before it was a copy' },
        { hash: hashOf(SECRET), text: undefined },
        true,
      ],
    ])
  })

  it('reaches what quotes it: other evidence, reasons, reviews, excerpts, frozen prompts, notes', async () => {
    const { state, fill, purge } = await makeState()
    const opened = await fill()
    const { db, journal } = opened
    const review = {
      at: NOW,
      dir: DIR,
      file: 'vault.md',
      op: 'update' as const,
      actor: 'agent:x',
      reason: 'x',
      runId: undefined,
      baseHash: undefined,
      before: undefined,
      after: 'It opens with marzipan-heron now',
      evidence: [],
    }
    const reviews = createReviews(db)
    const [, , , kept = 0] = reviews.addAll([
      review,
      { ...review, file: 'new.md', after: `- ${SECRET}` },
      { ...review, file: 'MEMORY.md', after: '- [V](vault.md) — hook' },
      { ...review, file: 'kept.md', after: 'Nothing of the kind' },
    ])
    const tombstones = createTombstones(db)
    tombstones.add({ at: NOW, dir: DIR, file: 'vault.md', excerpt: 'quagmire' }, ['value'])
    tombstones.add({ at: NOW, dir: DIR, file: 'again.md', excerpt: `it is so: ${SECRET}` }, ['another'])
    tombstones.add({ at: NOW, dir: DIR, file: 'kept.md', excerpt: 'Not of it' }, ['third'])
    journal.append([
      change('lisbon.md', undefined, 'They live in Lisbon', {
        evidence: [said(`I live in Lisbon, and: ${SECRET}`), said('I live in Lisbon')],
      }),
      change('b.md', undefined, 'B', { reason: 'split off vault.md' }),
      change('c.md', undefined, 'C', { reason: 'split off myvault.md' }),
    ])
    db.prepare('INSERT INTO prompts VALUES (?, ?, ?, ?, ?)').run('h', 's', DIR, NOW, `index: ${opened.line}`)
    db.prepare('INSERT INTO prompts VALUES (?, ?, ?, ?, ?)').run('h', 's', '/other', NOW, 'of another project')
    const renderings = createRenderingTable(db)
    const session = { harness: 'h', sessionId: 's' }
    const told = { added: [{ number: 1, message: 'u1', cuts: '{}' }], gone: [] }
    renderings.save(session, { anchor: 1, notes: 'The vault is about marzipan.', next: 2 }, told, NOW)
    const id = purge(opened)
    await opened.finish()
    expect(traces(state, ['quagmire', 'plankton', 'marzipan'])).toEqual([])
    expect([renderings.find(session), renderings.frozen(session, ['u1'])]).toEqual([undefined, []])
    expect(reviews.list().map((each) => each.id)).toEqual([kept])
    expect(tombstones.list().map(({ file, excerpt }) => [file, excerpt])).toEqual([
      ['kept.md', 'Not of it'],
      ['again.md', 'purged'],
      [`purged-${id}`, 'purged'],
    ])
    expect(tombstones.find([DIR], ['value'])?.file).toBe(`purged-${id}`)
    const reasons = ['lisbon.md', 'b.md', 'c.md'].map((file) => journal.latest(DIR, file))
    expect(reasons.map((row) => [row?.reason, row?.evidence.map(({ excerpt }) => excerpt)])).toEqual([
      ['written', ['', 'I live in Lisbon']],
      ['purged', []],
      ['split off myvault.md', []],
    ])
    expect(db.prepare('SELECT text FROM prompts').pluck().all()).toEqual(['of another project'])
  })

  it('leaves alone what has the same name in another project, or got it later', async () => {
    const { fill, purge } = await makeState()
    const opened = await fill()
    opened.journal.append([change('vault.md', undefined, 'About another vault', { dir: '/elsewhere' })])
    purge(opened)
    opened.journal.append([change('vault.md', undefined, 'A new one', { at: NOW + 1 })])
    await opened.finish()
    expect(opened.journal.latest('/elsewhere', 'vault.md')?.after?.text).toBe('About another vault')
    expect(opened.journal.list({ dir: DIR, file: 'vault.md', limit: 9 }).map(({ after }) => after?.text)).toEqual([
      'A new one',
    ])
  })

  it('takes along words of a write that was withdrawn', async () => {
    const { state, fill, purge } = await makeState()
    const opened = await fill()
    const ids = opened.journal.append([change('vault.md', SECRET, 'It opens with marzipan-heron')])
    opened.journal.withdraw(ids, 'could not be written')
    expect(missing(state, ['marzipan'])).toEqual([])
    purge(opened)
    await opened.finish()
    expect(traces(state, ['marzipan'])).toEqual([])
  })

  it('does not happen when its deletion was withdrawn', async () => {
    const { fill, purge } = await makeState()
    const opened = await fill()
    opened.journal.withdraw([purge(opened)], 'could not be written')
    expect(await opened.finish()).toEqual([])
    expect(opened.journal.latest(DIR, 'vault.md')?.after?.text).toBe(SECRET)
  })
})

describe('copies of the history', () => {
  it('that hold it are deleted, whatever their schema, and others stay', async () => {
    const { state, layout, open, fill, purge } = await makeState()
    const before = await open()
    before.journal.append([change('before.md', undefined, 'Something from before')])
    await before.store.backUpDaily(NOW - 2 * DAY)
    before.store.close()
    const opened = await fill()
    await opened.store.backUpDaily(NOW - DAY)
    await opened.store.backUpDaily(NOW)
    oldCopy(join(layout.backups, 'history-schema-1.db'), 1)
    oldCopy(join(layout.backups, 'history-schema-2.db'), 2)
    const [today = '', yesterday = '', older = '', second = '', first = ''] = listBackups(layout.backups)
    expect(missing(layout.backups, [...words, 'cinnamon'])).toEqual([])
    const id = purge(opened)
    const [done] = await opened.finish()
    expect({ ...done, deleted: done?.deleted.sort() }).toEqual({
      change: id,
      versions: 2,
      deleted: [yesterday, today, second].sort(),
    })
    expect(traces(state, [...words, 'cinnamon'])).toEqual([])
    expect(listBackups(layout.backups)).toEqual([older, first])
  })

  it.each<[string, (opened: Awaited<ReturnType<Awaited<ReturnType<typeof makeState>>['open']>>) => void]>([
    [
      'evidence',
      ({ journal }) => journal.append([change('lisbon.md', undefined, 'Lisbon', { evidence: [said(`"${SECRET}"`)] })]),
    ],
    ['a reason', ({ journal }) => journal.append([change('lisbon.md', undefined, 'Lisbon', { reason: SECRET })])],
    ['the same text', ({ journal }) => journal.append([change('other-name.md', undefined, SECRET)])],
    [
      'free pages',
      ({ db }) => {
        db.prepare('INSERT INTO contents VALUES (?, ?)').run('k', `${SECRET} `.repeat(200))
        db.prepare('DELETE FROM contents').run()
      },
    ],
  ])('that hold it only as %s are deleted', async (_where, write) => {
    const { state, layout, open, purge } = await makeState()
    const opened = await open()
    write(opened)
    await opened.store.backUpDaily(NOW)
    expect(missing(layout.backups, ['quagmire-walnut'])).toEqual([])
    opened.journal.append([change('vault.md', undefined, SECRET)])
    purge(opened)
    await opened.finish()
    expect(traces(state, ['quagmire'])).toEqual([])
    expect(listBackups(layout.backups)).toEqual([])
  })

  it('that were set aside are deleted when they hold it, WAL and all, or cannot be read', async () => {
    const { state, layout, open, fill, purge } = await makeState()
    const before = await open()
    mkdirSync(layout.corrupt)
    mkdirSync(layout.backups)
    const aside = (name: string) => join(layout.corrupt, name)
    before.store.close()
    copyFileSync(layout.history, aside('history-harmless.db'))
    const opened = await fill()
    for (const tail of ['', '-wal']) copyFileSync(layout.history + tail, aside(`history-sound.db${tail}`))
    writeFileSync(aside('index-1.db'), `no database: ${SECRET}`)
    writeFileSync(aside('history-gone.db-wal'), SECRET)
    writeFileSync(join(layout.backups, 'history-2026-01-01.db'), `torn ${OLDER}`)
    symlinkSync('/nowhere', aside('link.db'))
    purge(opened)
    const [done] = await opened.finish()
    expect(done?.deleted.sort()).toEqual([
      join(layout.backups, 'history-2026-01-01.db'),
      aside('history-gone.db'),
      aside('history-sound.db'),
      aside('index-1.db'),
    ])
    expect(traces(state, ['quagmire', 'plankton'])).toEqual([])
    // SQLite makes a WAL beside what it reads.
    const kept = readdirSync(layout.corrupt).filter((name) => name.endsWith('.db'))
    expect(kept.sort()).toEqual(['history-harmless.db', 'link.db'])
    expect(lstatSync(aside('link.db')).isSymbolicLink()).toBe(true)
  })

  it('do not bring it back though one is being made at the same time', async () => {
    const { state, layout, fill, purge } = await makeState()
    const opened = await fill()
    const filler = Array.from({ length: 2_000 }, (_, n) => change(`f${n}.md`, undefined, `${n} `.repeat(400)))
    opened.journal.append(filler)
    const making = opened.store.backUpDaily(NOW)
    purge(opened)
    const done = opened.finish()
    const next = opened.store.backUpDaily(NOW + DAY)
    expect([await making, (await done)[0]?.deleted.length, await next]).toEqual(['made', 1, 'made'])
    expect(traces(state, words)).toEqual([])
    expect(listBackups(layout.backups).map(isUsable)).toEqual([true])
  })
})

describe('a purge that was interrupted', () => {
  it('is on record until everything is clean, and taken to its end afterwards', async () => {
    const { state, layout, fill, purge, open } = await makeState()
    const opened = await fill()
    await opened.store.backUpDaily(NOW)
    const id = purge(opened)
    opened.purges.onPurge(() => {
      throw new Error('killed')
    })
    await expect(opened.finish()).rejects.toThrow('killed')
    expect(opened.pending()).toEqual([{ change: id, file: 'vault.md' }])
    opened.store.close()
    expect(waitsForPurge(layout.history)).toBe(true)
    const again = await open()
    const asked: unknown[] = []
    again.purges.onPurge((purged) => void asked.push(purged))
    expect(await again.finish()).toEqual([{ change: id, versions: 0, deleted: [] }])
    expect(asked).toEqual([{ dir: DIR, file: 'vault.md' }])
    expect(traces(state, words)).toEqual([])
    again.store.close()
    expect(waitsForPurge(layout.history)).toBe(false)
  })

  it('is taken to its end though the history was repaired from a copy that still had it', async () => {
    const { state, layout, fill, purge, open } = await makeState()
    const opened = await fill()
    opened.journal.append(Array.from({ length: 300 }, (_, n) => change(`f${n}.md`, undefined, `${n} `.repeat(400))))
    await opened.store.backUpDaily(NOW)
    purge(opened)
    const page = opened.db.prepare(`SELECT rootpage FROM sqlite_schema WHERE name = 'contents'`).pluck().get()
    opened.store.close()
    overwritePage(layout.history, Number(page))
    const again = await open()
    expect(again.store.repairs).toEqual([expect.stringContaining('history.db was damaged')])
    expect(again.db.prepare('SELECT text FROM contents WHERE text = ?').pluck().all(SECRET)).toEqual([SECRET])
    await again.finish()
    expect(traces(state, ['quagmire', 'plankton'])).toEqual([])
    expect(again.journal.latest(DIR, 'f7.md')?.after?.text).toBe('7 '.repeat(400))
  })

  it('by a program that reads the history says so, and goes on when it is done', async () => {
    const { state, layout, fill, purge } = await makeState()
    const opened = await fill()
    opened.db.pragma('busy_timeout = 10')
    const reader = openDatabase(layout.history)
    reader.exec('BEGIN')
    reader.prepare('SELECT count(*) FROM changes').get()
    purge(opened)
    await expect(opened.finish()).rejects.toMatchObject({ code: 'CONFLICT' })
    reader.exec('COMMIT')
    reader.close()
    expect(opened.pending()).toMatchObject([{ file: '' }])
    await opened.finish()
    expect(traces(state, words)).toEqual([])
  })
})

describe('phrases', () => {
  it('are what lines say, without their marks, long enough to mean something', () => {
    expect(
      phrasesOf(
        '---\nname: A longer name\ndescription: "What it is about"\ntype: project\n---\n\n- **Why:** because it is so\n1. short\n',
      ),
    ).toEqual(['A longer name', 'What it is about', 'because it is so'])
    expect(phrasesOf('PIN\n1234\n')).toEqual(['PIN\n1234\n'])
    expect(phrasesOf(' \n')).toEqual([])
    expect(phrasesOf(`${'ab'.repeat(30)}\n`)).toEqual(['ab'.repeat(20), 'ab'.repeat(10)])
  })

  it('do not include what stands in a text that stays, and are never too many', () => {
    expect(distinctPhrases(['In both of them\nOnly in this one'], ['> In both of them'])).toEqual(['Only in this one'])
    const long = Array.from({ length: 5_000 }, (_, n) => `line number ${n} of many`).join('\n')
    const some = distinctPhrases([long], [])
    expect([some.length, some[0], some.at(-1)]).toEqual([300, 'line number 0 of many', expect.stringContaining('49')])
  })
})

/** A backup of an older version, with the memory in it if that version could hold one. */
function oldCopy(file: string, schema: number): void {
  const db = openDatabase(file)
  for (const step of historyMigrations.slice(0, schema)) step(db)
  db.pragma(`user_version = ${schema}`)
  if (schema > 1) {
    db.prepare('INSERT INTO contents VALUES (?, ?)').run('k', 'An old text about cinnamon')
    db.prepare(
      `INSERT INTO changes (at, dir, file, op, actor, reason, after_hash, after_key, undoable, evidence)
       VALUES (1, ?, 'vault.md', 'create', 'user', 'x', 'h', 'k', 1, '[]')`,
    ).run(DIR)
  }
  db.pragma('journal_mode = DELETE')
  db.close()
}
