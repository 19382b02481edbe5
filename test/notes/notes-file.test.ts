import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openDatabases } from '../../daemon/db/databases.ts'
import { createNotesFiles, createNotesTable, hashOf, type NotesTable } from '../../daemon/notes/notes-file.ts'
import { makeHome } from '../support/home.ts'

const key = { harness: 'claude-code', session: 's-1' }
const upTo = (message: string) => ({ message, saidAt: 5, tokens: 12_000, source: 'rules' as const, at: 9 })

function ground() {
  const stateDir = makeHome().dir
  const store = openDatabases(stateDir, 0)
  onTestFinished(() => store.close())
  const table = createNotesTable(store.history)
  return {
    stateDir,
    table,
    files: createNotesFiles({ stateDir, table }),
    path: join(stateDir, 'sessions/s-1/notes.md'),
  }
}
/** Dies where the real one could be killed. */
const dying = (table: NotesTable, at: 'claim' | 'settle'): NotesTable => ({
  ...table,
  [at]: () => {
    throw new Error('killed')
  },
})

describe('notes and what they cover', () => {
  it('are kept together, privately', () => {
    const { files, path } = ground()
    expect(files.read(key)).toBeUndefined()
    files.write(key, 'one', upTo('m1'))
    expect(files.read(key)).toEqual({ text: 'one', covers: { ...upTo('m1'), hash: hashOf('one') } })
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700)
    files.write(key, 'one', upTo('m2'))
    expect(files.read(key)?.covers?.message).toBe('m2')
  })

  it('agree whenever a kill comes: before the record, between it and the file, or after both', () => {
    const { stateDir, table, files, path } = ground()
    files.write(key, 'one', upTo('m1'))
    const killed = (at: 'claim' | 'settle') =>
      expect(() => createNotesFiles({ stateDir, table: dying(table, at) }).write(key, 'two', upTo('m2'))).toThrow(
        'killed',
      )
    killed('claim')
    expect(files.read(key)).toMatchObject({ text: 'one', covers: { message: 'm1' } })
    // On record, and the file not yet there.
    table.claim(key, 's-1', { ...upTo('m2'), hash: hashOf('two') })
    expect(files.read(key)).toMatchObject({ text: 'one', covers: { message: 'm1' } })
    killed('settle')
    expect(files.read(key)).toMatchObject({ text: 'two', covers: { message: 'm2' } })
    files.write(key, 'three', upTo('m3'))
    expect(files.read(key)).toMatchObject({ text: 'three', covers: { message: 'm3' } })
    expect(table.claims(key)).toHaveLength(1)
    // What a person has written is kept, and covers what it did at least.
    table.claim(key, 's-1', { ...upTo('m4'), hash: hashOf('four') })
    writeFileSync(path, 'three, and my own words')
    expect(files.read(key)).toMatchObject({ text: 'three, and my own words', covers: { message: 'm3' } })
  })

  it('begin anew when the file was taken away or something else stands there', () => {
    const { files, path } = ground()
    files.write(key, 'one', upTo('m1'))
    rmSync(path)
    expect(files.read(key)).toBeUndefined()
    files.write(key, 'blank', undefined)
    expect(files.read(key)).toEqual({ text: 'blank', covers: undefined })
    rmSync(path)
    symlinkSync('/etc/passwd', path)
    expect(files.read(key)).toBeUndefined()
    files.write(key, 'two', upTo('m2'))
    expect(readFileSync(path, 'utf8')).toBe('two')
    writeFileSync(path, 'x'.repeat(1_000_001))
    expect(files.read(key)).toBeUndefined()
  })

  it('stay apart for sessions of one name, and inside their folder whatever a session is called', () => {
    const { stateDir, files } = ground()
    const other = { harness: 'codex', session: 's-1' }
    const cased = { harness: 'pi', session: 'S-1' }
    const wild = { harness: 'generic', session: '../../../etc/x' }
    for (const [n, each] of [key, other, cased, wild].entries()) files.write(each, `notes ${n}`, upTo(`m${n}`))
    for (const [n, each] of [key, other, cased, wild].entries()) expect(files.read(each)?.text).toBe(`notes ${n}`)
    const folders = readdirSync(join(stateDir, 'sessions'))
    expect(folders).toHaveLength(4)
    expect(folders.every((name) => name === 's-1' || /^[0-9a-f]{64}$/.test(name))).toBe(true)
  })

  it('leave nothing of what they said when they are emptied, what a kill left half written included', () => {
    const { stateDir, files, path } = ground()
    files.write(key, 'secret', upTo('m1'))
    files.write({ ...key, session: 's-2' }, 'secret', upTo('m1'))
    writeFileSync(`${path}.0123456789ab.tmp`, 'half a secret')
    rmSync(join(stateDir, 'sessions/s-2/notes.md'))
    writeFileSync(join(stateDir, 'sessions/s-2/notes.md.0123456789ab.tmp'), 'half a secret')
    mkdirSync(join(stateDir, 'sessions/generic/s-1'), { recursive: true })
    writeFileSync(join(stateDir, 'sessions/generic/s-1/pushed.jsonl'), 'a transcript')
    files.emptyAll()
    files.emptyAll()
    expect(readdirSync(dirname(path))).toEqual(['notes.md'])
    expect(readdirSync(join(stateDir, 'sessions/s-2'))).toEqual([])
    expect(files.read(key)).toMatchObject({ text: '', covers: { message: 'm1' } })
    expect(readFileSync(join(stateDir, 'sessions/generic/s-1/pushed.jsonl'), 'utf8')).toBe('a transcript')
  })
})
