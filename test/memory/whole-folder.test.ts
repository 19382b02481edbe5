import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { everythingIn, holdsNothing, inodeOf, renameFolder } from '../../daemon/memory/whole-folder.ts'
import { makeHome } from '../support/home.ts'

const OTHER_DISK = '/dev/shm'
const elsewhere = existsSync(OTHER_DISK) && statSync(OTHER_DISK).dev !== statSync(tmpdir()).dev

function folder() {
  const { dir } = makeHome()
  const from = join(dir, 'from')
  mkdirSync(join(from, 'a/b'), { recursive: true })
  return { dir, from, to: join(dir, 'x/y/to') }
}

it('holds nothing but folders until there is a file, a link or a device in it', () => {
  const { from } = folder()
  expect([holdsNothing(from), holdsNothing(`${from}-nowhere`)]).toEqual([true, true])
  symlinkSync('/nowhere', join(from, 'a/link'))
  expect(holdsNothing(from)).toBe(false)
  writeFileSync(join(from, 'a/b/file'), '')
  expect(everythingIn(from, 10)).toEqual(['a/b/file', 'a/link'])
  expect(everythingIn(from, 1)).toEqual(['a/b/file'])
})

it('is renamed in place of folders that hold nothing, and stays the same directory', () => {
  const { from, to } = folder()
  writeFileSync(join(from, 'file'), 'x')
  mkdirSync(join(to, 'empty/within'), { recursive: true })
  const inode = inodeOf(from)
  expect(renameFolder(from, to)).toBe('renamed')
  expect([inodeOf(to), inodeOf(from), everythingIn(to, 10)]).toEqual([inode, undefined, ['file']])
})

it('takes the place of no file', () => {
  const { from, to } = folder()
  mkdirSync(to, { recursive: true })
  writeFileSync(join(to, 'file'), 'x')
  expect(() => renameFolder(from, to)).toThrow(/ENOTEMPTY/)
  expect([existsSync(from), existsSync(join(to, 'file'))]).toEqual([true, true])
})

it.runIf(elsewhere)('says so where another disk begins, and stays where it is', () => {
  const { from } = folder()
  const shm = mkdtempSync(join(OTHER_DISK, 'md-'))
  onTestFinished(() => rmSync(shm, { recursive: true }))
  expect(renameFolder(from, join(shm, 'to'))).toBe('other-disk')
  expect(existsSync(join(from, 'a/b'))).toBe(true)
})
