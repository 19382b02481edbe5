import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findTraces, scrub } from '../../daemon/housekeeping/scrub.ts'
import { withoutPointer } from '../../daemon/memory/index-file.ts'
import { createJournal } from '../../daemon/memory/journal.ts'
import { hashOf } from '../../daemon/platform/safe-folder.ts'
import { testCore } from '../support/core.ts'
import { topic } from '../support/memory.ts'
import { seeded } from '../support/seed.ts'
import { createTestWriter } from '../support/writer.ts'

const by = { actor: 'agent:test', reason: 'test' }
const pointers = (count: number) =>
  Array.from(
    { length: count },
    (_, n) => `- [Thing ${n}](thing_${n}.md) — What is known of thing number ${n}, and why\n`,
  )

async function ground() {
  const { core, home } = await testCore()
  const dir = join(home.dir, 'memory')
  const journal = createJournal(core.db.history)
  return { core, dir, db: core.db.history, journal, writer: createTestWriter(core, journal) }
}

/** Bytes that each write adds to history.db, and to its log, beside an index of so many lines. */
async function growthAt(lines: number, writes: number) {
  const { dir, db, writer } = await ground()
  await writer.write(dir, [{ file: 'MEMORY.md', content: pointers(lines).join(''), form: 'as-it-was' }], by)
  db.pragma('wal_autocheckpoint = 0')
  const size = () => {
    db.pragma('wal_checkpoint(TRUNCATE)')
    return statSync(db.name).size
  }
  const before = size()
  for (let n = 0; n < writes; n++) await writer.write(dir, [{ file: `new_${n}.md`, content: topic(`New ${n}.`) }], by)
  const log = statSync(`${db.name}-wal`).size
  return { file: (size() - before) / writes, log: log / writes }
}

describe('what history.db takes for a write', () => {
  it('is at most 4 KB however long the index is, and no more of its log than beside a short one', async () => {
    const short = await growthAt(50, 50)
    const long = await growthAt(5_000, 50)
    console.info(JSON.stringify({ short, long }))
    expect(long.file).toBeLessThanOrEqual(4_096)
    expect(long.file).toBeLessThanOrEqual(1.25 * short.file)
    expect(long.log).toBeLessThanOrEqual(1.25 * short.log)
  })
})

/** A long history of one index: lines that come, go and change, several at once, and edits of another program. */
async function longHistory(changes: number) {
  const made = await ground()
  const { dir, journal } = made
  const random = seeded('an index')
  const pick = (below: number) => Math.floor(random() * below)
  const texts: string[] = ['']
  let lines = pointers(40)
  for (let n = 0; n < changes; n++) {
    lines = lines.map((line) => (line.endsWith('\n') ? line : `${line}\n`))
    for (let some = 1 + pick(3); some > 0; some--) {
      const at = pick(lines.length + 1)
      const line = pick(4) === 0 ? '\n' : `- [Line ${n}.${some}](line_${pick(60)}.md) — hook ${n}\n`
      lines = lines.toSpliced(at, pick(2), ...(pick(3) > 0 ? [line] : []))
    }
    const [before, after] = [texts.at(-1) as string, pick(20) === 0 ? lines.join('').trimEnd() : lines.join('')]
    lines = after.match(/[^\n]*\n|[^\n]+$/g) ?? []
    const version = (text: string) => ({ hash: hashOf(text), text })
    const change = { ...by, at: n, dir, file: 'MEMORY.md', op: 'update' as const, runId: undefined, evidence: [] }
    const isMissed = n < changes - 1 && pick(100) === 0
    // What is not journaled was an edit of another program that no look has found.
    if (!isMissed)
      journal.append([
        { ...change, before: n === 0 ? undefined : version(before), after: version(after), undoable: true },
      ])
    texts.push(after)
  }
  return { ...made, texts: new Map(texts.map((text) => [hashOf(text), text])), last: texts.at(-1) }
}

function textsOf({ db }: Awaited<ReturnType<typeof ground>>) {
  const journal = createJournal(db)
  const ids = db.prepare('SELECT id FROM changes ORDER BY id').pluck().all() as number[]
  return ids.flatMap((id) => {
    const { before, after } = journal.get(id) ?? {}
    return [before, after].flatMap((version) => (version ? [{ id, hash: version.hash, text: version.text }] : []))
  })
}

describe('every text of an index', () => {
  it('can be had back to the byte, over a thousand changes', { timeout: 60_000 }, async () => {
    const made = await longHistory(1_000)
    for (const { hash, text } of textsOf(made)) expect(text).toBe(made.texts.get(hash))
    const whole = made.db.prepare('SELECT count(*) FROM contents').pluck().get()
    expect(whole).toBeLessThan(40)
  })

  it('loses the line of a memory that is purged, and nothing else', { timeout: 60_000 }, async () => {
    const made = await longHistory(600)
    const { db, dir } = made
    const gone = ['line_7.md', 'line_8.md']
    for (const [n, file] of gone.entries()) {
      const purge = { id: n + 1, at: 10_000, dir, file, change: 10_000 }
      scrub(db, purge, findTraces(db, purge))
    }
    const clean = (text = '') => gone.reduce((rest, file) => withoutPointer(rest, file), text)
    for (const { hash, text } of textsOf(made)) expect(text?.trimEnd()).toBe(clean(made.texts.get(hash)).trimEnd())
    const left = db.prepare('SELECT lines FROM changes UNION ALL SELECT text FROM contents').pluck().all()
    expect(left.filter((text) => gone.some((file) => String(text).includes(file)))).toEqual([])
    const exact = textsOf(made).filter(({ hash, text }) => hashOf(text ?? '') === hash)
    expect(exact.length).toBeGreaterThan(0)
  })

  it('that an earlier version kept whole is shortened, a few at a time', { timeout: 60_000 }, async () => {
    const made = await longHistory(400)
    const { db, dir } = made
    const whole = textsOf(made)
    const keep = db.prepare('INSERT OR IGNORE INTO contents (key, text) VALUES (?, ?)')
    db.transaction(() => {
      for (const { hash, text } of whole) keep.run(hash, text)
      db.exec('UPDATE changes SET before_key = before_hash, after_key = after_hash, follows = NULL, lines = NULL')
    })()
    const kept = () => db.prepare('SELECT count(*) FROM contents').pluck().get() as number
    const before = kept()
    // A kill in between: the next daemon goes on.
    createJournal(db).shorten(50)
    const journal = createJournal(db)
    for (let rounds = 0; journal.shorten(50); rounds++) expect(rounds).toBeLessThan(20)
    expect(kept()).toBeLessThan(before / 10)
    expect(textsOf(made)).toEqual(whole)
    expect(journal.latest(dir, 'MEMORY.md')?.after?.text).toBe(made.last)
    expect(journal.shorten(50)).toBe(false)
  })
})

it('an edit of another program is built upon', async () => {
  const { dir, db, journal, writer } = await ground()
  await writer.write(dir, [{ file: 'MEMORY.md', content: pointers(500).join(''), form: 'as-it-was' }], by)
  await writer.write(dir, [{ file: 'a.md', content: topic('One.') }], by)
  const edited = pointers(400).join('')
  writeFileSync(join(dir, 'MEMORY.md'), edited)
  await writer.write(dir, [{ file: 'b.md', content: topic('Two.', 'B') }], by)
  const { before, after } = journal.latest(dir, 'MEMORY.md') ?? {}
  expect(before?.text).toBe(edited)
  expect(after?.text).toBe(`${edited}- [B](b.md) — What is known of B\n`)
  expect(db.prepare('SELECT count(*) FROM changes WHERE follows IS NOT NULL').pluck().get()).toBe(1)
})
