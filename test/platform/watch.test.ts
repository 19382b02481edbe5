import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createClock } from '../../daemon/platform/clock.ts'
import { createWatch, type WatchFailure, type WatchOptions, watchRemedy } from '../../daemon/platform/watch.ts'
import { manualTime } from '../support/clock.ts'
import { makeHome } from '../support/home.ts'

/** A watch of `roots`, and the names below the folder above them that it has delivered since it was last asked. */
async function watching(above: string, roots: string[], options: Partial<WatchOptions> = {}) {
  let changed = new Set<string>()
  const failures: (WatchFailure | undefined)[] = []
  let news = () => {}
  const watch = createWatch({
    clock: createClock(),
    depth: 2,
    quietMs: 10,
    longestMs: 100,
    onChange: (paths) => {
      for (const path of paths) changed.add(path.slice(above.length + 1))
      news()
    },
    onFailure: (failure) => {
      failures.push(failure)
      news()
    },
    ...options,
  })
  onTestFinished(watch.stop)
  await watch.set(roots.map((root) => join(above, root)))
  const until = async (isOver: () => boolean) => {
    while (!isOver())
      await new Promise<void>((resolve) => {
        news = resolve
      })
  }
  return {
    ...watch,
    failures,
    until,
    /** Waits for these names, then gives all that were delivered. */
    changed: async (...names: string[]) => {
      await until(() => names.every((name) => changed.has(name)))
      const all = [...changed].sort()
      changed = new Set()
      return all
    },
  }
}

function makeFolders(...folders: string[]): string {
  const { dir } = makeHome()
  for (const folder of folders) mkdirSync(join(dir, folder), { recursive: true })
  return dir
}

/** How many watches this process holds in the kernel. */
function watchesHeld(): number {
  return readdirSync('/proc/self/fd')
    .filter((fd) => isInotify(fd))
    .map((fd) => readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8').match(/^inotify /gm)?.length ?? 0)
    .reduce((sum, count) => sum + count, 0)
}

function isInotify(fd: string): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`).includes('inotify')
  } catch {
    return false
  }
}

describe('a watched folder', () => {
  it('delivers a change again, with those that came since, when the first delivery fails', async () => {
    const above = makeFolders('a')
    const time = manualTime()
    const failed: unknown[] = []
    const heard: string[][] = []
    let news = () => {}
    time.clock.onFailure((error) => failed.push(error))
    const watch = createWatch({
      ...{ clock: time.clock, depth: 2, quietMs: 10, longestMs: 100, onFailure: () => {} },
      isIgnored: (path) => {
        if (path.endsWith('.md')) news()
        return false
      },
      onChange: (paths) => {
        if (failed.length === 0) throw new Error('the index cannot be read')
        heard.push([...paths].map((path) => path.slice(above.length + 1)).sort())
      },
    })
    onTestFinished(watch.stop)
    await watch.set([join(above, 'a')])
    for (const name of ['one.md', 'two.md']) {
      const seen = new Promise<void>((resolve) => {
        news = resolve
      })
      writeFileSync(join(above, 'a', name), '')
      await seen
      await expect
        .poll(() => {
          time.pass(1_000)
          return failed.length
        })
        .toBe(1)
    }
    await expect
      .poll(() => {
        time.pass(1_000)
        return heard.flat()
      })
      .toEqual(['a/one.md', 'a/two.md'])
  })

  it('tells what was written, replaced and removed, in it and below, and nothing of what was there before', async () => {
    const dir = makeFolders('root/team')
    writeFileSync(join(dir, 'root/old.md'), 'old')
    const watch = await watching(dir, ['root'])
    writeFileSync(join(dir, 'root/a.md'), 'one')
    expect(await watch.changed('root/a.md')).toEqual(['root/a.md'])
    writeFileSync(join(dir, 'b.tmp'), 'three')
    renameSync(join(dir, 'b.tmp'), join(dir, 'root/a.md'))
    expect(await watch.changed('root/a.md')).toEqual(['root/a.md'])
    rmSync(join(dir, 'root/old.md'))
    expect(await watch.changed('root/old.md')).toEqual(['root/old.md'])
    writeFileSync(join(dir, 'root/team/c.md'), 'four')
    expect(await watch.changed('root/team/c.md')).toEqual(['root/team/c.md'])
  })

  it('takes in folders that appear, with what was in them already, as deep as it was asked to', async () => {
    const dir = makeFolders('root')
    const watch = await watching(dir, ['root'])
    mkdirSync(join(dir, 'root/a/b/c'), { recursive: true })
    writeFileSync(join(dir, 'root/a/b/x.md'), '')
    expect(await watch.changed('root/a', 'root/a/b', 'root/a/b/x.md')).toEqual(['root/a', 'root/a/b', 'root/a/b/x.md'])
    writeFileSync(join(dir, 'root/a/b/c/deep.md'), '')
    writeFileSync(join(dir, 'root/a/b/y.md'), '')
    expect(await watch.changed('root/a/b/y.md')).toEqual(['root/a/b/y.md'])
  })

  it('tells everything in a folder that is moved away, and nothing that happens there later', async () => {
    const dir = makeFolders('root/team/sub', 'root/other')
    writeFileSync(join(dir, 'root/team/sub/x.md'), '')
    const watch = await watching(dir, ['root'])
    renameSync(join(dir, 'root/team'), join(dir, 'away'))
    await watch.changed('root/team', 'root/team/sub', 'root/team/sub/x.md')
    writeFileSync(join(dir, 'away/sub/x.md'), 'more')
    writeFileSync(join(dir, 'root/other/y.md'), '')
    expect(await watch.changed('root/other/y.md')).toEqual(['root/other/y.md'])
  })

  it('is still watched after it was removed and made again at once', async () => {
    const dir = makeFolders('root/team')
    const watch = await watching(dir, ['root'])
    rmSync(join(dir, 'root/team'), { recursive: true })
    mkdirSync(join(dir, 'root/team'))
    writeFileSync(join(dir, 'root/team/x.md'), '')
    await watch.changed('root/team/x.md')
    writeFileSync(join(dir, 'root/team/y.md'), '')
    expect(await watch.changed('root/team/y.md')).toContain('root/team/y.md')
  })

  it('leaves out what is ignored, and hears of an ignored file when it is no longer', async () => {
    const dir = makeFolders('root/logs', 'root/team')
    writeFileSync(join(dir, 'root/old.md'), '')
    utimesSync(join(dir, 'root/old.md'), 1, 1)
    const watch = await watching(dir, ['root'], {
      isIgnored: (path, stats) => path.endsWith('/logs') || (stats?.isFile() === true && stats.mtimeMs < 10_000),
    })
    writeFileSync(join(dir, 'root/logs/x.md'), '')
    appendFileSync(join(dir, 'root/old.md'), 'more')
    writeFileSync(join(dir, 'root/team/y.md'), '')
    expect(await watch.changed('root/old.md', 'root/team/y.md')).toEqual(['root/old.md', 'root/team/y.md'])
  })

  it('follows no link below the root', async () => {
    const dir = makeFolders('root', 'outside')
    symlinkSync(join(dir, 'outside'), join(dir, 'root/before'))
    const watch = await watching(dir, ['root'])
    symlinkSync(join(dir, 'outside'), join(dir, 'root/link'))
    await watch.changed('root/link')
    writeFileSync(join(dir, 'outside/x.md'), '')
    writeFileSync(join(dir, 'root/last.md'), '')
    expect(await watch.changed('root/last.md')).toEqual(['root/last.md'])
  })
})

describe('the root of a watch', () => {
  it('need not exist yet, nor the folders above it', async () => {
    const dir = makeFolders('projects')
    const watch = await watching(dir, ['projects/x/memory'])
    mkdirSync(join(dir, 'projects/x/memory/team/sub'), { recursive: true })
    writeFileSync(join(dir, 'projects/x/other.md'), '')
    await watch.changed('projects/x/memory')
    writeFileSync(join(dir, 'projects/x/memory/team/sub/a.md'), '')
    expect(await watch.changed('projects/x/memory/team/sub/a.md')).not.toContain('projects/x/other.md')
    expect(watch.failures).toEqual([])
  })

  it('may be deleted and made again, also together with the folder above it', async () => {
    const dir = makeFolders('above/memory/team')
    const watch = await watching(dir, ['above/memory'])
    for (const gone of ['above/memory', 'above']) {
      rmSync(join(dir, gone), { recursive: true })
      await watch.changed('above/memory/team')
      mkdirSync(join(dir, 'above/memory/team'), { recursive: true })
      await watch.changed('above/memory')
      writeFileSync(join(dir, 'above/memory/team/a.md'), '')
      expect(await watch.changed('above/memory/team/a.md')).toContain('above/memory/team/a.md')
    }
    expect(watch.failures).toEqual([])
  })

  it('may be replaced by another folder', async () => {
    const dir = makeFolders('memory', 'next')
    writeFileSync(join(dir, 'next/b.md'), '')
    const watch = await watching(dir, ['memory'])
    renameSync(join(dir, 'memory'), join(dir, 'before'))
    renameSync(join(dir, 'next'), join(dir, 'memory'))
    await watch.changed('memory/b.md')
    writeFileSync(join(dir, 'before/old.md'), '')
    writeFileSync(join(dir, 'memory/a.md'), '')
    expect(await watch.changed('memory/a.md')).not.toContain('memory/old.md')
  })

  it('is found again by `set` when it was replaced together with the folder above it', async () => {
    const dir = makeFolders('x/memory', 'y/memory')
    const watch = await watching(dir, ['x/memory'])
    renameSync(join(dir, 'x'), join(dir, 'z'))
    renameSync(join(dir, 'y'), join(dir, 'x'))
    await watch.set([join(dir, 'x/memory')])
    expect(await watch.changed('x/memory')).toEqual(['x/memory'])
    writeFileSync(join(dir, 'x/memory/a.md'), '')
    expect(await watch.changed('x/memory/a.md')).toEqual(['x/memory/a.md'])
  })

  it('may be a link, which may appear later and lead elsewhere', async () => {
    const dir = makeFolders('one', 'two')
    const watch = await watching(dir, ['link'])
    for (const target of ['one', 'two']) {
      rmSync(join(dir, 'link'), { force: true })
      symlinkSync(join(dir, target), join(dir, 'link'))
      await watch.changed('link')
      await watch.set([join(dir, 'link')])
      writeFileSync(join(dir, target, 'a.md'), '')
      expect(await watch.changed('link/a.md')).toContain('link/a.md')
    }
  })

  it('may be a link to what is not there any more', async () => {
    const dir = makeFolders('one')
    symlinkSync(join(dir, 'gone'), join(dir, 'link'))
    const watch = await watching(dir, ['link'])
    expect(watch.failures).toEqual([])
    rmSync(join(dir, 'link'))
    symlinkSync(join(dir, 'one'), join(dir, 'link'))
    await watch.changed('link')
  })

  it('may be a single file, replaced, removed and linked to', async () => {
    const dir = makeFolders('real')
    const watch = await watching(dir, ['config.json'], { depth: 0 })
    const steps = [
      () => writeFileSync(join(dir, 'config.json'), '1'),
      () => appendFileSync(join(dir, 'config.json'), '2'),
      () => {
        writeFileSync(join(dir, 'other'), '3')
        renameSync(join(dir, 'other'), join(dir, 'config.json'))
      },
      () => rmSync(join(dir, 'config.json')),
      () => {
        writeFileSync(join(dir, 'real/config.json'), '4')
        symlinkSync(join(dir, 'real/config.json'), join(dir, 'config.json'))
      },
    ]
    for (const step of steps) {
      step()
      expect(await watch.changed('config.json')).toEqual(['config.json'])
    }
    await watch.set([join(dir, 'config.json')])
    writeFileSync(join(dir, 'real/config.json'), '55')
    expect(await watch.changed('config.json')).toEqual(['config.json'])
  })

  it('is let go of when it is no longer asked for, and leaves no watch behind', async () => {
    const before = watchesHeld()
    const dir = makeFolders('a/b', 'c')
    const watch = await watching(dir, ['a', 'c'])
    expect(watchesHeld()).toBeGreaterThan(before)
    await watch.set([join(dir, 'c')])
    writeFileSync(join(dir, 'a/b/x.md'), '')
    writeFileSync(join(dir, 'c/y.md'), '')
    expect(await watch.changed('c/y.md')).toEqual(['c/y.md'])
    watch.stop()
    expect(watchesHeld()).toBe(before)
  })
})

describe('changes', () => {
  it('are delivered together once none has come for a moment, or after a while in any case', async () => {
    const dir = makeFolders('root')
    const time = manualTime()
    const deliveries: string[][] = []
    const watch = await watching(dir, ['root'], {
      clock: time.clock,
      quietMs: 200,
      longestMs: 500,
      onChange: (paths) => deliveries.push([...paths].map((path) => path.slice(dir.length + 6)).sort()),
    })
    // The clock of the test stands still, so a second watch tells when the first has heard of a file.
    const heard = await watching(dir, ['root'])
    const write = async (name: string) => {
      writeFileSync(join(dir, 'root', name), '')
      await heard.changed(`root/${name}`)
    }
    await write('a')
    time.pass(150)
    await write('b')
    time.pass(199)
    expect(deliveries).toEqual([])
    time.pass(1)
    expect(deliveries).toEqual([['a', 'b']])
    for (const name of ['c', 'd', 'e', 'f']) {
      await write(name)
      time.pass(150)
    }
    expect(deliveries).toEqual([
      ['a', 'b'],
      ['c', 'd', 'e', 'f'],
    ])
    await write('g')
    watch.stop()
    time.pass(1_000)
    expect(deliveries).toHaveLength(2)
  })
})

describe('where the kernel will not watch', () => {
  it('says why, watches the other roots, and tries again', async () => {
    const dir = makeFolders('open')
    symlinkSync('loop', join(dir, 'loop'))
    const watch = await watching(dir, ['loop/root', 'open'])
    const failure = { code: 'ELOOP', path: join(dir, 'loop/root') }
    expect(watch.failures).toEqual([failure])
    expect(watch.failureOf(failure.path)).toEqual(failure)
    writeFileSync(join(dir, 'open/a.md'), '')
    await watch.changed('open/a.md')
    const roots = [failure.path, join(dir, 'open')]
    await watch.set(roots)
    expect(watch.failures).toEqual([failure])
    rmSync(join(dir, 'loop'))
    mkdirSync(failure.path, { recursive: true })
    await watch.set(roots)
    expect(watch.failures).toEqual([failure, undefined])
    expect(watch.failureOf(failure.path)).toBeUndefined()
    writeFileSync(join(failure.path, 'b.md'), '')
    await watch.changed('loop/root/b.md')
  })

  it.each([
    ['ENOSPC', 'fs.inotify.max_user_watches'],
    ['EMFILE', 'fs.inotify.max_user_instances'],
    ['EACCES', '/x cannot be watched (EACCES): make it readable for you'],
  ])('names a remedy for %s', (code, remedy) => {
    expect(watchRemedy({ code, path: '/x' })).toContain(remedy)
  })
})

it('keeps no process alive', () => {
  const moduleOf = (name: string) =>
    JSON.stringify(fileURLToPath(new URL(`../../daemon/platform/${name}.ts`, import.meta.url)))
  const program = `
    const { createWatch } = await import(${moduleOf('watch')})
    const { createClock } = await import(${moduleOf('clock')})
    const options = { depth: 3, quietMs: 1, longestMs: 1, onChange: () => {}, onFailure: () => {} }
    await createWatch({ clock: createClock(), ...options }).set([process.argv[1], process.argv[1] + '/not/there'])
    console.log('watched')`
  const options = { encoding: 'utf8', timeout: 20_000 } as const
  expect(execFileSync(process.execPath, ['-e', program, makeFolders('a')], options)).toBe('watched\n')
})
