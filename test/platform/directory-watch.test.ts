import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  watch as watchFolder,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type TreeOptions, watchTree } from '../../daemon/platform/directory-watch.ts'
import type { Watch } from '../../daemon/platform/path-wait.ts'
import type { WatchState } from '../../daemon/platform/watch-report.ts'
import { makeHome } from '../support/home.ts'

/** A watched tree, and what it has told since it was last asked. */
function watching(options: Partial<TreeOptions> & { root: string }) {
  let told = new Set<string>()
  const states: WatchState[] = []
  let news = () => {}
  const tree = watchTree({
    depth: 3,
    mostFolders: 20,
    onChange: (names) => {
      for (const name of names) told.add(name)
      news()
    },
    onState: (state) => {
      states.push(state)
      news()
    },
    ...options,
  })
  onTestFinished(tree.stop)
  const until = async (isOver: () => boolean) => {
    while (!isOver())
      await new Promise<void>((resolve) => {
        news = resolve
      })
  }
  return {
    ...tree,
    states,
    until,
    /** Waits for these names, then gives all that were told. */
    told: async (...names: string[]) => {
      await until(() => names.every((name) => told.has(name)))
      const all = [...told].sort()
      told = new Set()
      return all
    },
  }
}

function makeRoot(...folders: string[]): string {
  const root = join(makeHome().dir, 'root')
  mkdirSync(root)
  for (const folder of folders) mkdirSync(join(root, folder), { recursive: true })
  return root
}

/** The watch of the system, until a test says otherwise. */
function failingWatch() {
  let code: string | undefined
  const emit = new Map<string, (error: Error) => void>()
  const watch: Watch = (path, options, onEvent) => {
    if (code !== undefined) throw Object.assign(new Error(code), { code })
    const watcher = watchFolder(path, options, onEvent)
    emit.set(path, (error) => watcher.emit('error', error))
    return watcher
  }
  return {
    watch,
    fail: (next: string | undefined) => {
      code = next
    },
    emitError: (path: string, code: string) => emit.get(path)?.(Object.assign(new Error(code), { code })),
  }
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

describe('a watched tree', () => {
  it('tells the names that were written, replaced and removed, in the root and below', async () => {
    const root = makeRoot('team')
    writeFileSync(join(root, 'old.md'), 'old')
    const tree = watching({ root })
    writeFileSync(join(root, 'a.md'), 'one')
    expect(await tree.told('a.md')).toEqual(['a.md'])
    writeFileSync(join(root, 'a.md'), 'two')
    expect(await tree.told('a.md')).toEqual(['a.md'])
    writeFileSync(join(root, 'b.tmp'), 'three')
    renameSync(join(root, 'b.tmp'), join(root, 'a.md'))
    expect(await tree.told('a.md')).toEqual(['a.md', 'b.tmp'])
    rmSync(join(root, 'old.md'))
    expect(await tree.told('old.md')).toEqual(['old.md'])
    writeFileSync(join(root, 'team', 'c.md'), 'four')
    expect(await tree.told('team/c.md')).toEqual(['team/c.md'])
  })

  it('takes in folders that appear, with what was in them already, as deep as it was asked to', async () => {
    const root = makeRoot()
    const tree = watching({ root, depth: 2 })
    mkdirSync(join(root, 'a', 'b', 'c'), { recursive: true })
    writeFileSync(join(root, 'a', 'b', 'x.md'), '')
    expect(await tree.told('a/', 'a/b/')).not.toContain('a/b/c/')
    writeFileSync(join(root, 'a', 'b', 'y.md'), '')
    writeFileSync(join(root, 'a', 'b', 'c', 'deep.md'), '')
    writeFileSync(join(root, 'last.md'), '')
    expect(await tree.told('a/b/y.md', 'last.md')).toEqual(['a/b/y.md', 'last.md'])
  })

  it('tells of a folder that is moved away, of one in its place, and of nothing in the old one', async () => {
    const root = makeRoot('team/sub', 'other')
    const tree = watching({ root })
    const away = join(root, '..', 'away')
    renameSync(join(root, 'team'), away)
    expect(await tree.told('team/', 'team/sub/')).toEqual(['team', 'team/', 'team/sub/', 'team/team'])
    writeFileSync(join(away, 'sub', 'x.md'), '')
    renameSync(join(root, 'other'), join(root, 'team'))
    expect(await tree.told('team/')).not.toContain('team/sub/x.md')
    writeFileSync(join(root, 'team', 'y.md'), '')
    expect(await tree.told('team/y.md')).toEqual(['team/y.md'])
  })

  it('notices a folder that is removed and made again at once, though the system gives it the same number', async () => {
    const root = makeRoot('team')
    const tree = watching({ root })
    rmSync(join(root, 'team'), { recursive: true })
    mkdirSync(join(root, 'team'))
    await tree.told('team/')
    writeFileSync(join(root, 'team', 'x.md'), '')
    await tree.told('team/x.md')
  })

  it('follows no link below the root and enters no folder that is of no interest', async () => {
    const root = makeRoot('logs')
    const outside = join(root, '..', 'outside')
    mkdirSync(outside)
    const watched: string[] = []
    const watch: Watch = (path, options, onEvent) => {
      watched.push(path)
      return watchFolder(path, options, onEvent)
    }
    const tree = watching({ root, watch, enters: (folder) => folder !== 'logs' })
    symlinkSync(outside, join(root, 'link'))
    await tree.told('link')
    expect(watched).toEqual([root])
  })

  it('with thousands of folders lets others have their turn while it starts', async () => {
    const root = makeRoot()
    for (let n = 0; n < 500; n++) mkdirSync(join(root, `f${n}`))
    const tree = watching({ root, mostFolders: 1_000 })
    let turns = 0
    const count = setInterval(() => turns++, 0)
    await tree.ready
    clearInterval(count)
    expect(turns).toBeGreaterThan(1)
    writeFileSync(join(root, 'f499', 'x.md'), '')
    expect(await tree.told('f499/x.md')).toEqual(['f499/x.md'])
  })
})

describe('the root of a watched tree', () => {
  it('need not be there yet, nor the folders above it', async () => {
    const root = join(makeRoot(), 'projects', 'x', 'memory')
    const tree = watching({ root })
    expect(tree.state()).toEqual({ how: 'watching' })
    mkdirSync(root, { recursive: true })
    expect(await tree.told('/')).toEqual(['/'])
    writeFileSync(join(root, 'a.md'), '')
    expect(await tree.told('a.md')).toEqual(['a.md'])
  })

  it('may be deleted and made again, also together with the folder above it', async () => {
    const above = makeRoot('memory/team')
    const root = join(above, 'memory')
    const tree = watching({ root })
    for (const gone of [root, above]) {
      rmSync(gone, { recursive: true })
      await tree.told('/')
      mkdirSync(join(root, 'team'), { recursive: true })
      await tree.told('/', 'team/')
      writeFileSync(join(root, 'team', 'a.md'), '')
      await tree.told('team/a.md')
    }
  })

  it('may be replaced by another folder', async () => {
    const above = makeRoot('memory', 'next')
    const root = join(above, 'memory')
    const tree = watching({ root })
    renameSync(root, join(above, 'before'))
    renameSync(join(above, 'next'), root)
    await tree.told('/')
    writeFileSync(join(above, 'before', 'old.md'), '')
    writeFileSync(join(root, 'a.md'), '')
    expect(await tree.told('a.md')).not.toContain('old.md')
  })

  it('is not entered where that is not accepted, and is again when it is', async () => {
    const above = makeRoot('memory', 'forbidden/sub')
    const root = join(above, 'memory')
    const opened: string[] = []
    const watch: Watch = (path, options, onEvent) => {
      opened.push(path)
      return watchFolder(path, options, onEvent)
    }
    let accepted = true
    const tree = watching({ root, watch, accepts: () => accepted })
    rmSync(root, { recursive: true })
    accepted = false
    symlinkSync(join(above, 'forbidden'), root)
    await tree.told('/')
    expect(opened).toEqual([root, above])
    rmSync(root)
    accepted = true
    mkdirSync(root)
    await tree.told('/')
    expect(opened).toEqual([root, above, root])
  })

  it('that was replaced together with the folder above it, unseen, is found by a refresh', async () => {
    const above = makeRoot('x/memory', 'y/memory')
    const root = join(above, 'x', 'memory')
    const tree = watching({ root })
    renameSync(join(above, 'x'), join(above, 'z'))
    renameSync(join(above, 'y'), join(above, 'x'))
    tree.refresh()
    expect(await tree.told('/')).toEqual(['/'])
    writeFileSync(join(root, 'a.md'), '')
    expect(await tree.told('a.md')).toEqual(['a.md'])
  })
})

describe('where the system will not watch', () => {
  it.each(['ENOSPC', 'EMFILE', 'EACCES'])(
    'says that it polls and why (%s), and watches after a refresh',
    async (code) => {
      const root = makeRoot('team')
      const { watch, fail } = failingWatch()
      fail(code)
      const tree = watching({ root, watch })
      expect(tree.state()).toEqual({ how: 'polling', code, path: root })
      tree.refresh()
      fail(undefined)
      await tree.until(() => tree.states.length === 2)
      expect(tree.states).toEqual([{ how: 'polling', code, path: root }, { how: 'watching' }])
      await tree.told('/', 'team/')
      writeFileSync(join(root, 'team', 'a.md'), '')
      expect(await tree.told('team/a.md')).toEqual(['team/a.md'])
    },
  )

  it('says so for a folder that appears later, and goes on watching the others', async () => {
    const root = makeRoot('team')
    const { watch, fail } = failingWatch()
    const tree = watching({ root, watch })
    fail('ENOSPC')
    mkdirSync(join(root, 'new'))
    await tree.until(() => tree.states.length === 1)
    expect(tree.state()).toEqual({ how: 'polling', code: 'ENOSPC', path: join(root, 'new') })
    writeFileSync(join(root, 'team', 'a.md'), '')
    await tree.told('team/a.md')
    // The others are not known to be watched only because the one that could not be is gone.
    rmSync(join(root, 'new'), { recursive: true })
    writeFileSync(join(root, 'b.md'), '')
    await tree.told('b.md')
    expect(tree.state()).toMatchObject({ how: 'polling' })
  })

  it('survives a watch that breaks later', async () => {
    const root = makeRoot('team')
    const { watch, emitError } = failingWatch()
    const tree = watching({ root, watch })
    emitError(join(root, 'team'), 'EIO')
    await tree.until(() => tree.states.length === 1)
    expect(tree.states).toEqual([{ how: 'polling', code: 'EIO', path: join(root, 'team') }])
    tree.refresh()
    await tree.until(() => tree.states.length === 2)
    expect(tree.state()).toEqual({ how: 'watching' })
  })

  it('waits for no root that can be seen but never watched', async () => {
    const root = makeRoot()
    const { watch, fail } = failingWatch()
    const tree = watching({
      root,
      watch: (path, options, onEvent) => {
        fail(path === root ? 'ENOENT' : undefined)
        return watch(path, options, onEvent)
      },
    })
    await tree.ready
    expect(tree.state()).toEqual({ how: 'polling', code: 'ENOENT', path: root })
  })

  it('watches no more folders than it may', async () => {
    const root = makeRoot('a', 'b', 'c', 'd')
    const tree = watching({ root, mostFolders: 3 })
    expect(tree.state()).toMatchObject({ how: 'polling', code: 'CAP' })
    for (const folder of ['a', 'b', 'c', 'd']) rmSync(join(root, folder), { recursive: true })
    await tree.told('a', 'b', 'c', 'd')
    tree.refresh()
    await tree.until(() => tree.state().how === 'watching')
  })

  it('does not end the process when whoever listens fails', async () => {
    const root = makeRoot()
    const tree = watching({
      root,
      onChange: () => {
        throw new Error('a bug')
      },
    })
    writeFileSync(join(root, 'a.md'), '')
    writeFileSync(join(root, 'b.md'), '')
    await tree.until(() => tree.states.length === 1)
    expect(tree.state()).toMatchObject({ how: 'polling' })
  })
})

describe('what is watched', () => {
  it('is let go of: folders that vanish, refreshes and stopping leave no watch behind', async () => {
    const before = watchesHeld()
    const root = makeRoot('a/b', 'c')
    const tree = watching({ root })
    expect(watchesHeld() - before).toBe(4)
    rmSync(join(root, 'a'), { recursive: true })
    await tree.told('a/', 'a/b/')
    for (let n = 0; n < 5; n++) {
      tree.refresh()
      writeFileSync(join(root, `${n}.md`), '')
      await tree.told(`${n}.md`)
    }
    expect(watchesHeld() - before).toBe(2)
    rmSync(root, { recursive: true })
    await tree.told('/', 'c/')
    expect(watchesHeld() - before).toBe(1)
    tree.stop()
    expect(watchesHeld()).toBe(before)
    tree.refresh()
    expect(watchesHeld()).toBe(before)
  })

  it('keeps no process alive', () => {
    const module = fileURLToPath(new URL('../../daemon/platform/directory-watch.ts', import.meta.url))
    const program = `
      const { watchTree } = await import(${JSON.stringify(module)})
      const tree = (root) => watchTree({ root, depth: 3, mostFolders: 10, onChange: () => {} })
      tree(process.argv[1])
      tree(process.argv[1] + '/not/there')
      console.log('watched')`
    const options = { encoding: 'utf8', timeout: 20_000 } as const
    expect(execFileSync(process.execPath, ['-e', program, makeRoot('a')], options)).toBe('watched\n')
  })
})
