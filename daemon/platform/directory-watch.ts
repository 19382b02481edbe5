/**
 * Tells which names change in a folder tree, by watching its folders and never a file. Knows nothing of what the files
 * are. Where the system will not watch it says so, and whoever wants to know has to look from time to time.
 *
 * Even where all is watched a rare look is needed: the kernel drops events that come too fast and tells nobody.
 */
import { lstatSync, readdirSync, type Stats, statSync, watch as watchFolder } from 'node:fs'
import { basename, join } from 'node:path'
import { codeOf, createPathWait, identityOf, type Watch } from './path-wait.ts'
import { createWatchReport, type WatchListener, type WatchState } from './watch-report.ts'

export type WatchedTree = {
  state(): WatchState
  /** Resolves when every folder that was there at the start is watched, or could not be. */
  ready: Promise<void>
  /** Tries again what failed, and whether every watch still stands where it should. */
  refresh(): void
  stop(): void
}

export type TreeOptions = WatchListener & {
  /** Need not be there yet, and may go and come again. */
  root: string
  /** How many levels of folders below the root. */
  depth: number
  mostFolders: number
  /** Asked before the root is entered, each time. */
  accepts?: (root: string) => boolean
  /** Which folders, named from the root on, are of interest. */
  enters?: (folder: string) => boolean
  watch?: Watch
}

/** `stamp`: of the folder when it was listed. */
type Held = { identity: string; stamp: string; folders: Set<string>; close: () => void }

/** More than these and others get a turn in between. */
const AT_ONCE = 50
const MOST_MISSES = 10
/** Nothing else can be watched then either. */
const EXHAUSTED = ['ENOSPC', 'EMFILE', 'ENFILE']

export function watchTree(options: TreeOptions): WatchedTree {
  const { root, depth, mostFolders, accepts = () => true, enters = () => true, watch = watchFolder } = options
  const report = createWatchReport(root, options)
  const held = new Map<string, Held>()
  const renamed = new Set<string>()
  const queue = new Set<string>()
  let phase: 'starting' | 'running' | 'stopped' = 'starting'
  let turn: NodeJS.Immediate | undefined
  let misses = 0
  let onReady = () => {}
  const ready = new Promise<void>((resolve) => {
    onReady = resolve
  })

  const pathOf = (folder: string) => join(root, folder)
  const soon = () => {
    if (phase !== 'stopped') turn ??= setImmediate(work)
  }
  /** Whoever asked looks through what was there at the start by himself. */
  const note = (folder: string) => {
    if (phase !== 'starting') report.changed(`${folder}/`)
  }
  const rootMayBeBack = () => {
    queue.add('')
    soon()
  }
  const wait = createPathWait({ path: root, watch, onChange: rootMayBeBack })

  /** The folder of that name, never through a link; the root may be reached through one, if it is accepted. */
  const find = (folder: string): Stats | undefined => {
    try {
      if (folder === '' && !accepts(root)) return undefined
      const stats = folder === '' ? statSync(root) : lstatSync(pathOf(folder), { throwIfNoEntry: false })
      return stats?.isDirectory() ? stats : undefined
    } catch {
      return undefined
    }
  }

  const hear = (folder: string, event: string, name: string | null) => {
    if (name !== null) report.changed(within(folder, name))
    if (name !== null && event === 'rename') renamed.add(within(folder, name))
    // Of itself a folder tells under its own name: that it was moved or is gone, and its watch with it.
    if (name === null || (event === 'rename' && name === basename(pathOf(folder)))) {
      report.changed(`${folder}/`)
      queue.add(folder)
    }
    soon()
  }

  const forget = (folder: string) => {
    const known = held.get(folder)
    known?.close()
    held.delete(folder)
    queue.delete(folder)
    report.over(pathOf(folder))
    for (const name of known?.folders ?? []) forget(within(folder, name))
    if (known) note(folder)
  }

  const refuse = (folder: string, code: string) => {
    forget(folder)
    if (!EXHAUSTED.includes(code)) return report.trouble(pathOf(folder), code)
    report.exhausted(pathOf(folder), code)
    queue.clear()
  }

  const awaitRoot = () => {
    forget('')
    const trouble = wait.arm()
    if (trouble) report.trouble(root, trouble.code)
    // It came before the wait began. One that goes whenever it is to be watched is given up until the next refresh.
    else if (find('') && misses++ < MOST_MISSES) queue.add('')
    else if (misses > MOST_MISSES) report.trouble(root, 'ENOENT')
  }

  const hold = (folder: string) => {
    const before = held.get(folder)
    if (!before && held.size >= mostFolders) return report.exhausted(pathOf(folder), 'CAP')
    const stats = find(folder)
    if (!stats) return folder === '' ? awaitRoot() : forget(folder)
    // Nothing came and nothing went since it was listed: its watch stands, and the same folders are in it.
    if (before && folder !== '' && before.identity === identityOf(stats) && before.stamp === stampOf(stats)) {
      for (const name of before.folders) queue.add(within(folder, name))
      return
    }
    try {
      const watcher = watch(pathOf(folder), { persistent: false }, (event, name) => hear(folder, event, name))
      const mine: Held = {
        identity: identityOf(stats),
        stamp: stampOf(stats),
        folders: new Set(),
        close: () => watcher.close(),
      }
      watcher.on('error', (error) => {
        if (held.get(folder) === mine) refuse(folder, codeOf(error))
        soon()
      })
      // The new watch first: one folder has one watch in the kernel, which lives on without a gap.
      before?.close()
      held.set(folder, mine)
      report.over(pathOf(folder))
      if (folder === '') {
        wait.stop()
        misses = 0
      }
      if (before?.identity !== mine.identity) note(folder)
      enterFolders(folder, mine, before)
    } catch (error) {
      const gone = ['ENOENT', 'ENOTDIR'].includes(codeOf(error))
      if (!gone) refuse(folder, codeOf(error))
      else if (folder === '') awaitRoot()
      else forget(folder)
    }
  }

  /** Lists after the watch stands: whatever comes later is told by it. */
  const enterFolders = (folder: string, mine: Held, before: Held | undefined) => {
    if (levels(folder) >= depth) return
    for (const entry of readdirSync(pathOf(folder), { withFileTypes: true })) {
      const below = within(folder, entry.name)
      if (!entry.isDirectory() || !enters(below)) continue
      mine.folders.add(entry.name)
      queue.add(below)
    }
    for (const name of before?.folders ?? []) if (!mine.folders.has(name)) forget(within(folder, name))
  }

  /** A name came, went or now stands for something else. */
  const examine = (name: string) => {
    const cut = name.lastIndexOf('/')
    const parent = held.get(name.slice(0, Math.max(cut, 0)))
    if (!parent || levels(name) > depth || !enters(name)) return
    const leaf = name.slice(cut + 1)
    if (find(name)) {
      parent.folders.add(leaf)
      queue.add(name)
    } else if (parent.folders.delete(leaf)) forget(name)
  }

  const work = () => {
    turn = undefined
    for (const name of renamed) examine(name)
    renamed.clear()
    let count = 0
    for (const folder of queue) {
      queue.delete(folder)
      hold(folder)
      if (++count === AT_ONCE) break
    }
    report.tellChanges()
    if (queue.size > 0) return soon()
    report.tellState()
    if (phase === 'starting') phase = 'running'
    onReady()
  }

  const refresh = () => {
    if (phase === 'stopped') return
    report.tryAgain()
    misses = 0
    wait.stop()
    queue.add('')
    soon()
  }

  queue.add('')
  work()
  return {
    state: report.state,
    ready,
    refresh,
    stop: () => {
      phase = 'stopped'
      clearImmediate(turn)
      wait.stop()
      for (const { close } of held.values()) close()
      held.clear()
      onReady()
    },
  }
}

function stampOf({ mtimeMs, ctimeMs }: Stats): string {
  return `${mtimeMs} ${ctimeMs}`
}

function within(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`
}

function levels(folder: string): number {
  return folder === '' ? 0 : folder.split('/').length
}
