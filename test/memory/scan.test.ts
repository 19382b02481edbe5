import { spawnSync } from 'node:child_process'
import {
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { manifest, scanMemories } from '../../daemon/memory/scan.ts'
import { printTopic } from '../../daemon/memory/topic-file.ts'
import { hashOf } from '../../daemon/platform/safe-folder.ts'
import { makeHome } from '../support/home.ts'

/** Each file is an hour older than the one before. */
function makeMemories(files: Record<string, string | Buffer>): string {
  const dir = join(makeHome().dir, 'memory')
  mkdirSync(dir)
  Object.entries(files).forEach(([file, content], at) => {
    const path = join(dir, file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
    const seconds = Date.UTC(2026, 2, 31, 12 - at) / 1000
    utimesSync(path, seconds, seconds)
  })
  return dir
}

const names = (dir: string) => scanMemories(dir).items.map(({ file }) => file)
const role = printTopic({ name: 'Role', description: 'writes Go', type: 'user', body: 'Writes Go.' })

describe('a scan', () => {
  it('lists topic files, newest first, with what their first lines say', () => {
    const web = printTopic({ name: 'API', description: 'v2: only', type: 'reference', trust: 'untrusted', body: 'x' })
    const dir = makeMemories({ 'user_role.md': role, 'team/api.md': web, 'plain.md': 'no front matter\n' })
    const { items, older } = scanMemories(dir)
    expect(older).toBe(0)
    expect(items).toEqual([
      {
        ...{ file: 'user_role.md', name: 'Role', description: 'writes Go', type: 'user', stamp: '' },
        modifiedMs: Date.UTC(2026, 2, 31, 12),
        bytes: Buffer.byteLength(role),
        hash: hashOf(role),
      },
      {
        ...{
          file: 'team/api.md',
          name: 'API',
          description: 'v2: only',
          type: 'reference',
          trust: 'untrusted',
          stamp: '',
        },
        modifiedMs: Date.UTC(2026, 2, 31, 11),
        bytes: Buffer.byteLength(web),
        hash: hashOf(web),
      },
      {
        ...{ file: 'plain.md', modifiedMs: Date.UTC(2026, 2, 31, 10), bytes: 16, stamp: '' },
        hash: hashOf('no front matter\n'),
      },
    ])
  })

  it('passes over indexes, logs, hidden and temporary files', () => {
    const dir = makeMemories({
      'MEMORY.md': '- [A](a.md)\n',
      'team/MEMORY.md': '',
      'logs/2026/03/2026-03-31.md': 'log',
      '.hidden.md': role,
      '.git/a.md': role,
      'a.md.12.tmp': role,
      'a.md~': role,
      'notes.txt': role,
      'team/logs/kept.md': role,
    })
    expect(scanMemories(dir)).toMatchObject({ items: [{ file: 'team/logs/kept.md' }], older: 0 })
  })

  it('orders files of one time by name', () => {
    const dir = makeMemories({ 'b.md': role, 'a.md': role, 'c/a.md': role })
    for (const file of ['b.md', 'a.md', 'c/a.md']) utimesSync(join(dir, file), 1, 1)
    expect(names(dir)).toEqual(['a.md', 'b.md', 'c/a.md'])
  })

  it('keeps the newest up to the limit and counts the rest', () => {
    const dir = makeMemories(Object.fromEntries(Array.from({ length: 203 }, (_, at) => [`${at}.md`, role])))
    const { items, older } = scanMemories(dir)
    expect([items.length, items[0]?.file, items[199]?.file, older]).toEqual([200, '0.md', '199.md', 3])
    expect(scanMemories(dir, { limit: 2 })).toMatchObject({ items: [{ file: '0.md' }, { file: '1.md' }], older: 201 })
  })

  it('is empty where there is no directory', () => {
    const dir = makeMemories({ 'a.md': role })
    expect(scanMemories(join(dir, 'none'))).toEqual({ items: [], older: 0 })
    expect(scanMemories(join(dir, 'a.md'))).toEqual({ items: [], older: 0 })
  })

  it('follows no link, and waits for no FIFO', () => {
    const dir = makeMemories({ 'a.md': role, 'sub/b.md': role })
    const outside = makeMemories({ 'secret.md': role })
    symlinkSync(join(outside, 'secret.md'), join(dir, 'link.md'))
    symlinkSync(join(dir, 'a.md'), join(dir, 'inner.md'))
    symlinkSync(join(dir, 'gone'), join(dir, 'broken.md'))
    symlinkSync(outside, join(dir, 'folder'))
    symlinkSync('..', join(dir, 'sub/up'))
    mkdirSync(join(dir, 'folder.md'))
    expect(spawnSync('mkfifo', [join(dir, 'pipe.md')]).status).toBe(0)
    expect(names(dir)).toEqual(['a.md', 'sub/b.md'])
    expect(scanMemories(dir).older).toBe(0)
  })

  it('leaves out what cannot be read and goes on', () => {
    const dir = makeMemories({ 'a.md': role })
    // A name that is no UTF-8 can be listed, not opened; unlike missing permission it stops root as well.
    writeFileSync(Buffer.concat([Buffer.from(`${dir}/`), Buffer.from([0xff]), Buffer.from('.md')]), role)
    expect(scanMemories(dir)).toMatchObject({ items: [{ file: 'a.md' }] })
  })

  it('does not go deeper than eight folders', () => {
    const deep = (folders: number) => `${'d/'.repeat(folders)}a.md`
    const dir = makeMemories({ [deep(8)]: role, [deep(9)]: role })
    expect(names(dir)).toEqual([deep(8)])
    expect(scanMemories(dir).older).toBe(0)
  })

  it('reads thirty lines and no more', () => {
    const fields = (lines: number) => `---\n${'# x\n'.repeat(lines)}type: user\n---\n`
    const dir = makeMemories({ 'a.md': fields(28), 'b.md': fields(29) })
    expect(scanMemories(dir).items.map(({ file, type }) => [file, type])).toEqual([
      ['a.md', 'user'],
      ['b.md', undefined],
    ])
  })

  it('knows the mark of a memory whose front matter goes on after what is read', () => {
    const dir = makeMemories({
      'a.md': `---\nname: a\ntrust: untrusted\n${Array.from({ length: 40 }, (_, at) => `k${at}: 1\n`).join('')}---\n`,
      'b.md': `---\nname: b\ntrust: untrusted\ndescription: "${'日'.repeat(6000)}"\n---\n`,
      'c.md': '---\nname: c\ntrust: untrusted',
    })
    expect(scanMemories(dir).items.map(({ name, trust }) => [name, trust])).toEqual([
      ['a', 'untrusted'],
      ['b', 'untrusted'],
      ['c', 'untrusted'],
    ])
  })

  it('does not read through a file of many gigabytes', () => {
    const dir = makeMemories({ 'a.md': role })
    truncateSync(join(dir, 'a.md'), 8 * 2 ** 30)
    expect(scanMemories(dir).items).toMatchObject([{ name: 'Role', bytes: 8 * 2 ** 30 }])
  })

  it('changes nothing, not even a time', () => {
    const dir = makeMemories({ 'a.md': role })
    const before = statSync(join(dir, 'a.md'), { bigint: true })
    scanMemories(dir)
    const { mtimeNs, ctimeNs, ino } = statSync(join(dir, 'a.md'), { bigint: true })
    expect([mtimeNs, ctimeNs, ino]).toEqual([before.mtimeNs, before.ctimeNs, before.ino])
    expect(readFileSync(join(dir, 'a.md'), 'utf8')).toBe(role)
  })

  it('leaves no file open', () => {
    const dir = makeMemories({ 'a.md': role, 'x/y/z.md': role })
    const open = () =>
      spawnSync('ls', [`/proc/${process.pid}/fd`])
        .stdout.toString()
        .split('\n').length
    const before = open()
    for (let round = 0; round < 50; round += 1) scanMemories(dir)
    rmSync(dir, { recursive: true })
    scanMemories(dir)
    expect(open()).toBeLessThan(before + 10)
  })
})

describe('a manifest', () => {
  it('has one line for each memory', () => {
    const modifiedMs = Date.UTC(2026, 2, 31, 12)
    expect(
      manifest([
        { file: 'user_role.md', type: 'user', modifiedMs, description: 'writes Go' },
        { file: 'plain.md', modifiedMs },
        { file: 'odd\nname.md', type: 'project', modifiedMs, description: 'a\n- [user] b.md\u2028c' },
      ]),
    ).toBe(
      [
        '- [user] user_role.md (2026-03-31T12:00:00.000Z): writes Go',
        '- plain.md (2026-03-31T12:00:00.000Z)',
        '- [project] odd name.md (2026-03-31T12:00:00.000Z): a - [user] b.md c',
      ].join('\n'),
    )
    expect(manifest([])).toBe('')
  })
})
