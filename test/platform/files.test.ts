import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ensurePrivateFolder, privateFolderProblem, writeAtomic } from '../../daemon/platform/files.ts'
import { makeHome } from '../support/home.ts'

describe('writeAtomic', () => {
  it('replaces the content, privately, and leaves nothing beside it', () => {
    const { dir } = makeHome()
    const path = join(dir, 'file')
    writeFileSync(path, 'old')
    writeAtomic(path, 'new')
    expect(readFileSync(path, 'utf8')).toBe('new')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(dir).sort()).toEqual(['.config', 'file'])
  })

  it('keeps the old content and no temporary file when the write cannot succeed', () => {
    const { dir } = makeHome()
    mkdirSync(join(dir, 'taken'))
    writeFileSync(join(dir, 'taken', 'x'), 'old')
    expect(() => writeAtomic(join(dir, 'taken'), 'new')).toThrow()
    expect(readFileSync(join(dir, 'taken', 'x'), 'utf8')).toBe('old')
    expect(readdirSync(dir).sort()).toEqual(['.config', 'taken'])
  })
})

describe('private folders', () => {
  it('are made for the user alone', () => {
    const { dir } = makeHome()
    ensurePrivateFolder(join(dir, 'a', 'b'), 'state')
    expect(statSync(join(dir, 'a', 'b')).mode & 0o777).toBe(0o700)
  })

  it('are refused, not changed, when others can enter', () => {
    const { dir } = makeHome()
    chmodSync(dir, 0o750)
    expect(() => ensurePrivateFolder(dir, 'state')).toThrow(
      `the state folder ${dir} can be entered by others (mode 750)`,
    )
    expect(statSync(dir).mode & 0o777).toBe(0o750)
  })

  it.each([
    [{ uid: 1, mode: 0o40700, isDirectory: () => true }, 'belongs to uid 1, not to you'],
    [{ uid: 7, mode: 0o40701, isDirectory: () => true }, 'can be entered by others (mode 701)'],
    [{ uid: 7, mode: 0o40500, isDirectory: () => true }, 'is closed to you (mode 500)'],
    [{ uid: 7, mode: 0o100600, isDirectory: () => false }, 'is not a folder'],
  ])('say what is wrong with them', (stats, problem) => {
    expect(privateFolderProblem('/f', stats, 7)?.problem).toBe(`/f ${problem}`)
    expect(privateFolderProblem('/f', { uid: 7, mode: 0o40700, isDirectory: () => true }, 7)).toBeUndefined()
  })
})
