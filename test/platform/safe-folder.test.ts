import { isUtf8 } from 'node:buffer'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { MemoryFolder } from '../../daemon/memory/folder.ts'
import { hashOf } from '../../daemon/platform/safe-folder.ts'
import { MemoryError } from '../../schema/errors.ts'
import { hostileCases } from '../memory/containment-corpus.ts'
import { type Ground, type HostileCase, hostileNames } from '../memory/hostile-names.ts'
import { entriesOf, snapshot } from '../memory/snapshot.ts'
import { anything, bytes, makeGround, open, outcome, reaches, refusal } from './safe-folder-ground.ts'

/** Asks for everything that can be asked for under a hostile name; tells what was not as it must be. */
function complaints(ground: Ground, folder: MemoryFolder, { name, path, says }: HostileCase): unknown[] {
  const file = typeof path === 'string' ? path : path(ground)
  const before = snapshot(ground.home)
  const refusals = [
    outcome(() => folder.write(file, bytes, anything)),
    outcome(() => folder.write(file, bytes, { expect: null })),
    outcome(() => folder.write(file, bytes, { expect: hashOf(bytes) })),
    outcome(() => folder.remove(file, anything)),
  ]
  const found = outcome(() => folder.read(file))
  const after = snapshot(ground.home)
  const touched = [...before, ...after].filter((line) => !before.includes(line) || !after.includes(line))
  const wrong = refusals.filter((error) => !isRefusal(error, says))
  if (found !== undefined && !isRefusal(found, '')) wrong.push(found)
  return [...wrong, ...touched].map((what) => ({ name, what }))
}

function isRefusal(error: unknown, says: string): boolean {
  if (!(error instanceof MemoryError) || error.code !== 'REFUSED' || error.reason !== 'path') return false
  return error.message.includes(says) && /^.{20,300}$/.test(error.message)
}

describe('the containment corpus', () => {
  const groups = [...new Set(hostileNames.map(({ group }) => group))]
  const ofTrees = hostileCases.filter((each) => !hostileNames.includes(each))

  it('has at least 200 cases, each another one', () => {
    const ground: Ground = { home: '/h', memory: '/h/memory', outside: '/h/outside' }
    const names = hostileNames.map(({ path }) => (typeof path === 'string' ? path : path(ground)))
    const trees = ofTrees.map(({ group, name }) => `${group}: ${name}`)
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
    expect(trees.filter((name, at) => trees.indexOf(name) !== at)).toEqual([])
    expect(hostileCases.length).toBeGreaterThan(400)
  })

  it.each(groups)('is refused in names: %s', (group) => {
    const ground = makeGround()
    const folder = open(ground)
    const cases = hostileNames.filter((each) => each.group === group)
    expect(cases.flatMap((each) => complaints(ground, folder, each))).toEqual([])
  })

  describe.each(reaches)('is refused in trees reached by %s:', (reach) => {
    it.for(ofTrees)('$group: $name', (each, context) => {
      const ground = makeGround()
      if (each.setUp?.(ground) === false) context.skip('this machine cannot make it')
      const folder = open(ground, reach)
      each.afterOpening?.(ground)
      expect(complaints(ground, folder, each)).toEqual([])
    })
  })
})

describe.each(reaches)('reached by %s', (reach) => {
  it('writes and reads the very bytes, under ordinary, foreign and nested names', () => {
    const ground = makeGround()
    const folder = open(ground, reach)
    const contents = [
      Buffer.alloc(0),
      Buffer.from([0, 255, 13, 10, 0xc3]),
      Buffer.from('ö\n'),
      Buffer.alloc(1_048_576, 'x'),
    ]
    for (const file of [
      'new.md',
      'Größe 🙂.md',
      'プロジェクト.md',
      'new/x.md',
      'a/new/new/x.md',
      'team/x.md',
      'MEMORY.md',
    ])
      for (const content of contents) {
        const hash = hashOf(content)
        folder.write(file, content, anything)
        expect(readFileSync(join(ground.memory, file)).equals(content)).toBe(true)
        const read = folder.read(file)
        expect({ ...read, bytes: read?.bytes.equals(content) }).toEqual({
          bytes: true,
          hash,
          mode: 0o600,
          stamp: expect.any(String),
          text: read?.bytes.toString(),
          isText: isUtf8(read?.bytes ?? bytes),
        })
      }
    expect(statSync(join(ground.memory, 'a/new/new')).mode & 0o777).toBe(0o700)
    expect(entriesOf(ground.memory).filter((name) => name.includes('.tmp'))).toEqual([])
  })

  it('reads what others made under names that it would not give', () => {
    const ground = makeGround()
    const folder = open(ground, reach)
    for (const file of ['What?.MD', '.hidden', 'cafe\u0301.md']) {
      writeFileSync(join(ground.memory, file), file)
      expect(folder.read(file)?.text).toBe(file)
    }
    const missing = ['no.md', 'no/no.md', 'x'.repeat(300), `a/${'x'.repeat(300)}/x.md`]
    expect(missing.map(folder.read)).toEqual(Array(4).fill(undefined))
  })

  it('reads no file that is swapped for a link to one outside', () => {
    const ground = makeGround()
    const folder = open(ground, reach)
    folder.read('user_role.md')
    rmSync(join(ground.memory, 'user_role.md'))
    symlinkSync(join(ground.outside, 'user_role.md'), join(ground.memory, 'user_role.md'))
    expect(outcome(() => folder.read('user_role.md'))).toEqual(refusal('is a link'))
  })

  it('keeps the permissions of a file that it replaces', () => {
    const ground = makeGround()
    const file = join(ground.memory, 'user_role.md')
    for (const mode of [0o644, 0o640, 0o600, 0o444]) {
      chmodSync(file, mode)
      open(ground, reach).write('user_role.md', Buffer.from(`${mode}`), anything)
      expect({ mode: statSync(file).mode & 0o7777, text: readFileSync(file, 'utf8') }).toEqual({
        mode,
        text: `${mode}`,
      })
    }
  })

  it('replaces only what has the permissions that were seen', () => {
    const ground = makeGround()
    const file = join(ground.memory, 'user_role.md')
    chmodSync(file, 0o640)
    const folder = open(ground, reach)
    const read = folder.read('user_role.md')
    const seen = { expect: read?.hash ?? '', mode: read?.mode ?? 0 }
    folder.write('user_role.md', read?.bytes ?? bytes, seen)
    expect(statSync(file).mode & 0o7777).toBe(0o640)
    chmodSync(file, 0o600)
    expect([
      outcome(() => folder.write('user_role.md', bytes, seen)),
      outcome(() => folder.write('user_role.md', bytes, { expect: null, mode: 0o600 })),
    ]).toEqual(Array(2).fill(expect.objectContaining({ code: 'CONFLICT' })))
    expect({ mode: statSync(file).mode & 0o7777, text: readFileSync(file) }).toEqual({ mode: 0o600, text: read?.bytes })
    expect(folder.sweep()).toEqual([])
  })

  it('tells at a glance whether a file is the one that was read', () => {
    const ground = makeGround()
    const folder = open(ground, reach)
    const read = folder.read('user_role.md')
    expect(['user_role.md', 'gone.md', 'no/gone.md'].map((file) => folder.isStill(file, read))).toEqual([
      true,
      false,
      false,
    ])
    expect(['user_role.md', 'gone.md', 'no/gone.md'].map((file) => folder.isStill(file, undefined))).toEqual([
      false,
      true,
      true,
    ])
    writeFileSync(join(ground.memory, 'user_role.md'), `${read?.bytes} and more`)
    expect(folder.isStill('user_role.md', read)).toBe(false)
    expect(outcome(() => folder.isStill('../x.md', read))).toEqual(refusal('leads to no place'))
  })

  it('changes a file only where it holds what was expected', () => {
    const ground = makeGround()
    const folder = open(ground, reach)
    const read = folder.read('user_role.md')
    folder.write('user_role.md', bytes, { expect: read?.hash })
    folder.write('new.md', bytes, { expect: null })
    expect(['user_role.md', 'new.md'].map((file) => folder.read(file)?.hash)).toEqual(Array(2).fill(hashOf(bytes)))
    const before = snapshot(ground.home)
    const conflict = (says: string) =>
      expect.objectContaining({ code: 'CONFLICT', message: expect.stringContaining(says) })
    const other = Buffer.from('other')
    expect([
      outcome(() => folder.write('user_role.md', other, { expect: read?.hash })),
      outcome(() => folder.write('user_role.md', other, { expect: null })),
      outcome(() => folder.write('gone.md', other, { expect: hashOf(bytes) })),
      outcome(() => folder.write('no/such/folder/gone.md', other, { expect: hashOf(bytes) })),
      outcome(() => folder.remove('user_role.md', { expect: read?.hash })),
      outcome(() => folder.remove('gone.md', { expect: hashOf(bytes) })),
    ]).toEqual([
      conflict('"user_role.md" has changed since it was read'),
      conflict('"user_role.md" is already there'),
      conflict('"gone.md" is no longer there'),
      conflict('"no/such/folder/gone.md" is no longer there'),
      conflict('"user_role.md" has changed since it was read'),
      conflict('"gone.md" is no longer there'),
    ])
    expect(snapshot(ground.home)).toEqual(before)
  })

  it('writes nothing that it could not read again', () => {
    const ground = makeGround()
    const before = snapshot(ground.home)
    expect(outcome(() => open(ground, reach).write('new/x.md', Buffer.alloc(1_048_577), anything))).toEqual(
      refusal('larger'),
    )
    expect(snapshot(ground.home)).toEqual(before)
  })

  it('removes a file, and the folders that are empty then', () => {
    const ground = makeGround()
    const folder = open(ground, reach)
    folder.write('p/q/r/x.md', bytes, anything)
    folder.write('p/y.md', bytes, anything)
    expect(folder.remove('p/q/r/x.md', { expect: hashOf(bytes) })).toBe('removed')
    expect(readdirSync(join(ground.memory, 'p'))).toEqual(['y.md'])
    expect(folder.remove('p/y.md', anything)).toBe('removed')
    expect(existsSync(join(ground.memory, 'p'))).toBe(false)
    expect([folder.remove('p/y.md', anything), folder.remove('no.md', anything)]).toEqual(['absent', 'absent'])
    rmSync(join(ground.memory, 'a'), { recursive: true })
    rmSync(join(ground.memory, 'team'), { recursive: true })
    folder.remove('user_role.md', anything)
    folder.remove('MEMORY.md', anything)
    expect(readdirSync(ground.memory)).toEqual([])
  })

  it('goes on where two twins are there already', () => {
    const ground = makeGround()
    writeFileSync(join(ground.memory, 'USER_ROLE.md'), 'a twin')
    const [first, second] = readdirSync(ground.memory).filter((name) => name.toLowerCase() === 'user_role.md')
    open(ground, reach).write(second ?? first ?? '', bytes, anything)
    expect(readFileSync(join(ground.memory, second ?? first ?? ''), 'utf8')).toBe('ours\n')
  })

  it('sweeps its own half-written files and nothing else', () => {
    const ground = makeGround()
    const ours = ['.memoryd-1-2.tmp', 'a/.memoryd-123-281474976710655.tmp', 'a/b/c/.memoryd-9-9.tmp']
    const others = [
      '.memoryd-1.tmp',
      '.memoryd-1-2.tmp.md',
      'x.tmp',
      'memoryd-1-2.tmp',
      'a/.memoryd-x-2.tmp',
      '.memoryd-1-2.tmpx',
    ]
    for (const file of [...ours, ...others]) writeFileSync(join(ground.memory, file), 'x')
    mkdirSync(join(ground.memory, 'a/.memoryd-3-3.tmp'))
    symlinkSync(join(ground.outside, 'user_role.md'), join(ground.memory, '.memoryd-4-4.tmp'))
    symlinkSync(ground.outside, join(ground.memory, 'linked'))
    writeFileSync(join(ground.outside, '.memoryd-5-5.tmp'), 'x')
    const folder = open(ground, reach)
    expect(folder.sweep().sort()).toEqual([...ours].sort())
    expect(folder.sweep()).toEqual([])
    const left = entriesOf(ground.memory)
    expect(left).toEqual(expect.arrayContaining([...others, 'a/.memoryd-3-3.tmp', '.memoryd-4-4.tmp']))
    expect(existsSync(join(ground.outside, '.memoryd-5-5.tmp'))).toBe(true)
  })

  it('passes on what the disk says, and leaves no half of anything', (context) => {
    const ground = makeGround()
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=0700', 'tmpfs', ground.memory])
    if (mounted.status !== 0) context.skip('cannot mount a file system here')
    onTestFinished(() => void spawnSync('umount', ['-l', ground.memory]))
    const folder = open(ground, reach)
    folder.write('x.md', bytes, anything)
    const before = snapshot(ground.memory).map((line) => line.replace(/ \d{19} \d{19} /, ' '))
    const large = Buffer.alloc(500_000, 'x')
    expect(outcome(() => folder.write('x.md', large, anything))).toMatchObject({ code: 'ENOSPC' })
    expect(outcome(() => folder.write('p/q/x.md', large, anything))).toMatchObject({ code: 'ENOSPC' })
    expect(snapshot(ground.memory).map((line) => line.replace(/ \d{19} \d{19} /, ' '))).toEqual(before)
    spawnSync('mount', ['-o', 'remount,ro', ground.memory])
    expect(outcome(() => folder.write('x.md', bytes, anything))).toMatchObject({ code: 'EROFS' })
    expect(outcome(() => folder.write('p/x.md', bytes, anything))).toMatchObject({ code: 'EROFS' })
    expect(outcome(() => folder.remove('x.md', anything))).toMatchObject({ code: 'EROFS' })
    expect(folder.read('x.md')).toMatchObject({ bytes })
  })
})
