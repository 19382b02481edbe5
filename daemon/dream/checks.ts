/**
 * Asks the gates, with the numbers of this machine, and remembers what came of it: for each directory when its sessions were
 * last counted and how the last check that nobody asked for ended. Starts nothing.
 */
import type { DreamCheck } from '../../schema/dream.ts'
import type { Clock } from '../platform/clock.ts'
import type { Touched } from '../sessions/sessions.ts'
import { type Limits, type Looks, type Trigger, type Verdict, walkGates } from './gates.ts'
import type { DreamLock } from './lock.ts'

/** `off`: why memory is off there, where somebody has looked. */
export type Directory = { dir: string; root: string; off?: string | undefined }

type Session = { harness: string; sessionId: string }

type Deps = {
  lock: Pick<DreamLock, 'lastMs' | 'holder'>
  touched: Pick<Touched, 'count'>
  failures: (dir: string, sinceMs: number) => ReturnType<Looks['failures']>
  /** Projects whose memories are in a directory. */
  rootsOf: (dir: string) => string[]
  /** Why memory is off there. Only what is known without looking at files. */
  offBecause: (root: string) => string | undefined
  settings: () => Limits & { enabled: boolean; dailyLog: boolean }
  isRemote: boolean
  /** Whether a dream of ours goes on there. */
  isRunning: (dir: string) => boolean
  pid: number
  clock: Pick<Clock, 'now'>
}

export type Checks = {
  check(at: Directory, trigger: Trigger, session?: Session): Verdict
  /** All numbers, and nothing is remembered. */
  explain(at: Directory, trigger: Trigger): Verdict
  last(dir: string): DreamCheck | undefined
}

/** A daemon that knows a thousand projects remembers no more than that. */
const MOST_KEPT = 1_000
const DAY_MS = 86_400_000

export function createChecks(deps: Deps): Checks {
  const { lock, touched, failures, rootsOf, offBecause, settings, isRemote, isRunning, pid, clock } = deps
  const counted = new Map<string, number>()
  const lasts = new Map<string, DreamCheck>()

  const looksAt = ({ dir, root, off }: Directory, session: Session | undefined, onCount: () => void) => ({
    enabled: () => {
      const { enabled, dailyLog } = settings()
      return { isOn: enabled, off: off ?? offBecause(root), isRemote, isDailyLog: dailyLog }
    },
    lastMs: () => lock.lastMs(dir),
    countedMs: () => counted.get(dir),
    failures: () => failures(dir, clock.now() - DAY_MS),
    sessionsSince: (sinceMs: number) => {
      onCount()
      return touched.count({ projects: rootsOf(dir), sinceMs, except: session })
    },
    holder: () => (isRunning(dir) ? { pid, ageMs: 0 } : lock.holder(dir)),
  })

  return {
    check: (at, trigger, session) => {
      const nowMs = clock.now()
      const looks = looksAt(at, session, () => keep(counted, at.dir, nowMs))
      const verdict = walkGates(looks, { trigger, limits: settings(), nowMs })
      keep(lasts, at.dir, toCheck(verdict, nowMs))
      return verdict
    },
    explain: (at, trigger) => {
      const looks = looksAt(at, undefined, () => {})
      return walkGates(looks, { trigger, limits: settings(), nowMs: clock.now(), goOn: 'at-closed' })
    },
    last: (dir) => lasts.get(dir),
  }
}

function toCheck({ trigger, gate, gates }: Verdict, nowMs: number): DreamCheck {
  return { at: new Date(nowMs).toISOString(), trigger, ...(gate && { gate }), gates }
}

function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > MOST_KEPT && oldest !== undefined) map.delete(oldest)
}
