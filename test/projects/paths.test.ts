import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createProbe } from '../../daemon/projects/paths.ts'
import { makeHome } from '../support/home.ts'
import { needPrograms } from '../support/programs.ts'

const makeFolder = () => realpathSync(makeHome().dir)

describe('a probe', () => {
  it('read a regular file whole, up to the cap, and nothing else', (context) => {
    needPrograms(context, 'mkfifo')
    const dir = makeFolder()
    writeFileSync(join(dir, 'file'), '12345')
    symlinkSync('file', join(dir, 'link'))
    symlinkSync('loop', join(dir, 'loop'))
    execFileSync('mkfifo', [join(dir, 'pipe')])
    const probe = createProbe()
    const read = (name: string, capBytes = 5) => probe.read(join(dir, name), capBytes)?.bytes.toString()
    expect([read('file'), read('link'), read('file', 4)]).toEqual(['12345', '12345', undefined])
    expect(['.', 'loop', 'pipe', 'none', 'file/x', 'a\0b'].map((name) => read(name))).toEqual(Array(6).fill(undefined))
    // It says it is empty, and is longer than the cap.
    expect(probe.read('/proc/self/status', 5)).toBeUndefined()
    expect(probe.kind(join(dir, 'loop'))).toBe('unreachable')
    expect(probe.kind(join(dir, 'pipe'))).toBe('other')
  })

  it.each<[string, (dir: string) => void]>([
    ['a file that was written again', (dir) => writeFileSync(join(dir, 'file'), 'other')],
    ['a file that was touched', (dir) => utimesSync(join(dir, 'file'), 1, 1)],
    ['a file that was replaced', (dir) => renameSync(join(dir, 'second'), join(dir, 'file'))],
    ['a file that is gone', (dir) => rmSync(join(dir, 'file'))],
    ['a file that came', (dir) => writeFileSync(join(dir, 'none'), '')],
    ['a link that leads elsewhere', (dir) => renameSync(join(dir, 'new-link'), join(dir, 'link'))],
  ])('notice %s', (_what, change) => {
    const dir = makeFolder()
    for (const name of ['file', 'second']) writeFileSync(join(dir, name), 'one')
    symlinkSync('/nowhere', join(dir, 'link'))
    symlinkSync('/elsewhere', join(dir, 'new-link'))
    const probe = createProbe()
    probe.read(join(dir, 'file'), 100)
    probe.kind(join(dir, 'none'))
    expect(probe.resolve(join(dir, 'link'))).toBe('/nowhere')
    expect(probe.isUnchanged()).toBe(true)
    change(dir)
    expect(probe.isUnchanged()).toBe(false)
  })

  it('are not settled while a second write could leave the stamp as it was', () => {
    const dir = makeFolder()
    const file = join(dir, 'file')
    writeFileSync(file, 'one')
    const probe = createProbe()
    probe.read(file, 100)
    const now = Date.now()
    expect([probe.isSettledAt(now), probe.isSettledAt(now + 3_000)]).toEqual([false, true])
  })

  it('follow every link of any tangle to where a folder would be made', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd')
    const step = fc.constantFrom('a', 'b', 'c', 'd', '..', '.')
    const link = fc.record({
      at: fc.array(name, { minLength: 1, maxLength: 2 }),
      to: fc.array(step, { minLength: 1, maxLength: 3 }),
    })
    const home = makeFolder()
    fc.assert(
      fc.property(fc.array(link, { maxLength: 6 }), fc.array(name, { minLength: 1, maxLength: 4 }), (links, path) => {
        const dir = mkdtempSync(join(home, 'tangle-'))
        for (const { at, to } of links) {
          try {
            mkdirSync(join(dir, ...at, '..'), { recursive: true })
            symlinkSync(to.join('/'), join(dir, ...at))
          } catch {
            // A link stands where the next wanted a folder: one link fewer.
          }
        }
        const target = createProbe().resolve(join(dir, ...path))
        fc.pre(target?.startsWith(dir) ?? false)
        mkdirSync(target as string, { recursive: true })
        // A way through a missing folder and out again stays closed.
        fc.pre(existsSync(join(dir, ...path)))
        expect(realpathSync.native(join(dir, ...path))).toBe(target)
      }),
    )
  })

  it('give up on links that go in circles', () => {
    const dir = makeFolder()
    symlinkSync('b', join(dir, 'a'))
    symlinkSync('a', join(dir, 'b'))
    expect(createProbe().resolve(join(dir, 'a/x'))).toBeUndefined()
  })
})
