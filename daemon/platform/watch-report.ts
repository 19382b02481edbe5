/** What a watched tree has to tell: the names that changed, all of a burst at once, and whether it can watch at all. */

export type WatchState =
  | { how: 'watching' }
  /** `code`: of the system's refusal, or `CAP` when there are more folders than were to be watched. */
  | { how: 'polling'; code: string; path: string }

export type WatchListener = {
  /** Names from the root on; one that ends with a slash is a folder in which anything may have changed, `/` the root. */
  onChange: (names: ReadonlySet<string>) => void
  onState?: (state: WatchState) => void
}

export type WatchReport = {
  changed(name: string): void
  trouble(path: string, code: string): void
  over(path: string): void
  /** Nothing more can be watched, wherever it is: not over before everything was tried again. */
  exhausted(path: string, code: string): void
  tryAgain(): void
  state(): WatchState
  tellChanges(): void
  tellState(): void
}

export function createWatchReport(root: string, { onChange, onState = () => {} }: WatchListener): WatchReport {
  const troubles = new Map<string, string>()
  let names = new Set<string>()
  let exhausted: WatchState | undefined
  let told: WatchState = { how: 'watching' }

  const state = (): WatchState => {
    const [first] = troubles
    return exhausted ?? (first ? { how: 'polling', code: first[1], path: first[0] } : { how: 'watching' })
  }

  /** A listener that fails must not end the process: what it has missed, it has to look for. */
  const safely = (tell: () => void) => {
    try {
      tell()
    } catch (error) {
      troubles.set(root, String(error))
    }
  }

  return {
    changed: (name) => void names.add(name),
    trouble: (path, code) => void troubles.set(path, code),
    over: (path) => void troubles.delete(path),
    exhausted: (path, code) => {
      exhausted ??= { how: 'polling', code, path }
    },
    tryAgain: () => {
      exhausted = undefined
    },
    state,
    tellChanges: () => {
      const some = names
      names = new Set()
      if (some.size > 0) safely(() => onChange(some))
    },
    tellState: () => {
      const now = state()
      if (JSON.stringify(now) === JSON.stringify(told)) return
      told = now
      safely(() => onState(now))
    },
  }
}

/** Why it cannot be watched, and what a person can do. */
export function watchRemedy({ code, path }: WatchState & { how: 'polling' }): string {
  const remedies: Record<string, string> = {
    ENOSPC: 'the limit of inotify watches is reached: raise fs.inotify.max_user_watches with sysctl',
    EMFILE:
      'too many files or inotify instances are open: raise the limit of open files or fs.inotify.max_user_instances',
  }
  return remedies[code] ?? `${path} cannot be watched (${code}): make it readable for you`
}
