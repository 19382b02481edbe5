import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createNotesFile } from '../../daemon/notes/notes-file.ts'
import { testCore } from '../support/core.ts'

const key = { harness: 'claude-code', sessionId: 's-1' }
const upTo = (message: string) => ({ message, saidAt: 5, tokens: 12_000, source: 'rules' as const, at: 9 })

async function ground() {
  const { core } = await testCore()
  const { stateDir, db } = core
  /** The statement at which a kill comes fails, and so does everything after it. */
  const killedAt = (statement: 'INSERT' | 'DELETE', write: () => void) => {
    db.history.exec(
      `CREATE TEMP TRIGGER kill BEFORE ${statement} ON session_notes BEGIN SELECT RAISE(ABORT, 'killed'); END`,
    )
    expect(write).toThrow('killed')
    db.history.exec('DROP TRIGGER kill')
  }
  return { stateDir, db, killedAt, file: createNotesFile(core), path: join(stateDir, 'sessions/s-1/notes.md') }
}

describe('notes and what they cover', () => {
  it('are kept together, privately', async () => {
    const { file, path } = await ground()
    expect(file.read(key)).toBeUndefined()
    file.write(key, 'one', upTo('m1'))
    expect(file.read(key)).toEqual({ text: 'one', covers: upTo('m1') })
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700)
    file.write(key, 'one', upTo('m2'))
    expect(file.read(key)?.covers?.message).toBe('m2')
  })

  it('agree whenever a kill comes: before the record, between it and the file, or after both', async () => {
    const { stateDir, db, killedAt, file, path } = await ground()
    file.write(key, 'one', upTo('m1'))
    killedAt('INSERT', () => file.write(key, 'two', upTo('m2')))
    expect(file.read(key)).toMatchObject({ text: 'one', covers: { message: 'm1' } })
    // On record, and the file not yet there.
    rmSync(path)
    mkdirSync(path)
    expect(() => file.write(key, 'two', upTo('m2'))).toThrow()
    rmSync(path, { recursive: true })
    writeFileSync(path, 'one')
    expect(file.read(key)).toMatchObject({ text: 'one', covers: { message: 'm1' } })
    killedAt('DELETE', () => file.write(key, 'three', upTo('m3')))
    expect(file.read(key)).toMatchObject({ text: 'three', covers: { message: 'm3' } })
    file.write(key, 'four', upTo('m4'))
    expect(file.read(key)).toMatchObject({ text: 'four', covers: { message: 'm4' } })
    expect(db.history.prepare('SELECT count(*) FROM session_notes').pluck().get()).toBe(1)
    // What a person has written is kept, and covers what it did at least.
    killedAt('DELETE', () => file.write(key, 'five', upTo('m5')))
    writeFileSync(path, 'four, and my own words')
    expect(file.read(key)).toMatchObject({ text: 'four, and my own words', covers: { message: 'm4' } })
    expect(readdirSync(join(stateDir, 'sessions'))).toEqual(['s-1'])
  })

  it('begin anew when the file was taken away or something else stands there', async () => {
    const { file, path } = await ground()
    file.write(key, 'one', upTo('m1'))
    rmSync(path)
    expect(file.read(key)).toBeUndefined()
    file.write(key, 'blank', undefined)
    expect(file.read(key)).toEqual({ text: 'blank', covers: undefined })
    rmSync(path)
    symlinkSync('/etc/passwd', path)
    expect(file.read(key)).toBeUndefined()
    file.write(key, 'two', upTo('m2'))
    expect(readFileSync(path, 'utf8')).toBe('two')
    writeFileSync(path, 'x'.repeat(1_000_001))
    expect(file.read(key)).toBeUndefined()
  })

  it('stay apart for sessions of one name, and inside their folder whatever a session is called', async () => {
    const { stateDir, file } = await ground()
    const other = { harness: 'codex', sessionId: 's-1' }
    const cased = { harness: 'pi', sessionId: 'S-1' }
    const wild = { harness: 'generic', sessionId: '../../../etc/x' }
    for (const [n, each] of [key, other, cased, wild].entries()) file.write(each, `notes ${n}`, upTo(`m${n}`))
    for (const [n, each] of [key, other, cased, wild].entries()) expect(file.read(each)?.text).toBe(`notes ${n}`)
    const folders = readdirSync(join(stateDir, 'sessions'))
    expect(folders).toHaveLength(4)
    expect(folders.every((name) => name === 's-1' || /^[0-9a-f]{64}$/.test(name))).toBe(true)
  })

  it('leave nothing of what they said when they are emptied, what a kill left half written included', async () => {
    const { stateDir, file, path } = await ground()
    file.write(key, 'secret', upTo('m1'))
    file.write({ ...key, sessionId: 's-2' }, 'secret', upTo('m1'))
    writeFileSync(`${path}.0123456789ab.tmp`, 'half a secret')
    rmSync(join(stateDir, 'sessions/s-2/notes.md'))
    writeFileSync(join(stateDir, 'sessions/s-2/notes.md.0123456789ab.tmp'), 'half a secret')
    mkdirSync(join(stateDir, 'sessions/generic/s-1'), { recursive: true })
    writeFileSync(join(stateDir, 'sessions/generic/s-1/pushed.jsonl'), 'a transcript')
    file.emptyAll()
    file.emptyAll()
    expect(readdirSync(dirname(path))).toEqual(['notes.md'])
    expect(readdirSync(join(stateDir, 'sessions/s-2'))).toEqual([])
    expect(file.read(key)).toMatchObject({ text: '', covers: { message: 'm1' } })
    expect(readFileSync(join(stateDir, 'sessions/generic/s-1/pushed.jsonl'), 'utf8')).toBe('a transcript')
  })
})
