/** Decides whether a dream may start, cheapest question first: facts behind the first closed gate are not read. */
import type { DreamCheck } from '../../schema/dream.ts'
import type { Core } from '../core.ts'
import { createLru } from '../platform/lru.ts'
import { flag, isAgentDir } from '../projects/memory-dir.ts'
import type { Projects } from '../projects/projects.ts'
import type { SessionKey } from '../sessions/message-table.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { DreamLock } from './dream-lock.ts'
import type { Dreams } from './dream-table.ts'

/** `turn`: one has ended. `asked`: a program asks. `person`: a person wants it now. */
export type Trigger = DreamCheck['trigger']

type GateName = NonNullable<DreamCheck['gate']>

export type Limits = { minHours: number; minSessions: number; scanMinutes: number }

export type Looks = {
  enabled(): { isOn: boolean; off: string | undefined; isRemote: boolean; isDailyLog: boolean }
  lastMs(): number | undefined
  countedMs(): number | undefined
  /** Since the last completed dream; `usd`: within a day. */
  failures(): { times: number; lastMs: number; usd: number }
  sessionsSince(lastMs: number): number
  holder(): { pid: number; ageMs: number } | undefined
}

type Passed = DreamCheck['gates'][number]

export type Verdict = ReturnType<typeof walkGates>

type Asked = { trigger: Trigger; limits: Limits; nowMs: number; goOn?: 'at-closed' | undefined }

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const FAILED_MINUTES = 60
const MOST_FAILED_MINUTES = 24 * 60
/** More is not spent on failing dreams within a day. */
const MOST_FAILED_USD = 0.25
const ORDER: readonly GateName[] = ['enabled', 'time', 'throttle', 'sessions', 'lock']
const SKIPS: readonly GateName[] = ['time', 'throttle', 'sessions']

/** With `goOn` closed gates do not end the check. */
export function walkGates(looks: Looks, { trigger, limits, nowMs, goOn }: Asked) {
  const isDue = trigger === 'person' || trigger === 'nightly'
  const gates: Passed[] = []
  let lastMs: number | undefined
  const judge: Record<GateName, () => Judged> = {
    enabled: () => enabledGate(looks.enabled(), trigger),
    time: () => {
      lastMs = looks.lastMs()
      return timeGate(lastMs, limits, nowMs)
    },
    throttle: () => throttleGate(looks, { limits, nowMs, goOn }),
    sessions: () => {
      const since = believed(lastMs, nowMs)
      return sessionsGate(looks.sessionsSince(since ?? 0), limits, since)
    },
    lock: () => lockGate(looks.holder()),
  }
  for (const gate of ORDER) {
    if (isDue && SKIPS.includes(gate)) continue
    const { facts, why } = judge[gate]()
    gates.push({ gate, facts, ...(why !== undefined && { why }) })
    if (why !== undefined && goOn === undefined) break
  }
  const closed = gates.find(({ why }) => why !== undefined)
  return { trigger, gate: closed?.gate, why: closed?.why, gates, lastMs }
}

type Judged = { facts: Passed['facts']; why?: string | undefined }

function enabledGate({ isOn, off, isRemote, isDailyLog }: ReturnType<Looks['enabled']>, trigger: Trigger): Judged {
  const facts = {
    dream: isOn ? 'on' : 'off',
    memory: off === undefined ? 'on' : `off: ${off}`,
    remote: isRemote ? 'yes' : 'no',
    dailyLog: isDailyLog ? 'on' : 'off',
  }
  if (!isOn) return { facts, why: 'dreams are switched off: dream.enabled is false' }
  if (off !== undefined) return { facts, why: `memory is off: ${off}` }
  if (isRemote) return { facts, why: 'the daemon runs for a remote session' }
  // Logs are distilled once a night, unless a person asks.
  if (isDailyLog && trigger !== 'nightly' && trigger !== 'person')
    return { facts, why: 'daily logs are distilled at night only: dailyLog.cron says when' }
  return { facts }
}

function timeGate(lastMs: number | undefined, { minHours }: Limits, nowMs: number): Judged {
  if (lastMs === undefined) return { facts: { last: 'never', minHours } }
  const hours = (nowMs - lastMs) / HOUR_MS
  const facts = { last: new Date(lastMs).toISOString(), hours: rounded(hours), minHours }
  if (hours >= minHours || believed(lastMs, nowMs) === undefined) return { facts }
  return { facts, why: `the last one was ${rounded(hours)} hours ago, and ${minHours} must pass` }
}

/** A time in the future was written by a wrong clock: waiting for it would never end. */
export function believed(lastMs: number | undefined, nowMs: number): number | undefined {
  return lastMs === undefined || lastMs > nowMs + HOUR_MS ? undefined : lastMs
}

function throttleGate(looks: Looks, { limits: { scanMinutes }, nowMs, goOn }: Omit<Asked, 'trigger'>): Judged {
  const countedMs = looks.countedMs()
  const minutes = countedMs === undefined ? Number.POSITIVE_INFINITY : (nowMs - countedMs) / MINUTE_MS
  const facts = countedMs === undefined ? { counted: 'never' } : { minutes: rounded(minutes) }
  const isCounted = minutes >= 0 && minutes < scanMinutes
  const counted = isCounted ? `sessions were counted ${rounded(minutes)} minutes ago` : undefined
  const failed = isCounted && !goOn ? undefined : leftAlone(looks.failures(), nowMs)
  // The longer wait is told.
  return { facts: { ...facts, scanMinutes, ...failed?.facts }, why: failed?.why ?? counted }
}

/** A dream that fails again costs as much again, so the wait doubles with each failure. */
function leftAlone({ times, lastMs, usd }: ReturnType<Looks['failures']>, nowMs: number) {
  const sinceMinutes = (nowMs - lastMs) / MINUTE_MS
  const doubled = Math.min(FAILED_MINUTES * 2 ** (times - 1), MOST_FAILED_MINUTES)
  const waitMinutes = usd >= MOST_FAILED_USD ? MOST_FAILED_MINUTES : doubled
  if (times === 0 || sinceMinutes >= waitMinutes || sinceMinutes < 0) return undefined
  const what = times === 1 ? 'the last dream failed or was stopped' : `the last ${times} dreams failed or were stopped`
  const cost = usd > 0 ? `, for $${usd.toFixed(4)} within a day` : ''
  const why = `${what} ${rounded(sinceMinutes)} minutes ago${cost}, and ${waitMinutes} must pass`
  const facts = { failures: times, failedUsd: usd, sinceMinutes: rounded(sinceMinutes), waitMinutes }
  return { facts, why }
}

function sessionsGate(sessions: number, { minSessions }: Limits, lastMs: number | undefined): Judged {
  const since = lastMs === undefined ? 'ever' : new Date(lastMs).toISOString()
  const facts = { sessions, minSessions, since }
  if (sessions >= minSessions) return { facts }
  return { facts, why: `${sessions} sessions since then, and ${minSessions} are needed` }
}

function lockGate(holder: ReturnType<Looks['holder']>): Judged {
  if (!holder) return { facts: { holder: 'none' } }
  const minutes = rounded(holder.ageMs / MINUTE_MS)
  return { facts: { holder: holder.pid, minutes }, why: `process ${holder.pid} holds the lock` }
}

/** Rounded down, so that no number looks as if it were enough. */
function rounded(number: number): number {
  return Math.floor(number * 100) / 100
}

export type Directory = { dir: string; root: string; off?: string | undefined }

const MOST_KEPT = 1_000
const DAY_MS = 86_400_000

export function createGates(core: Core, projects: Projects, sessions: Sessions, dreams: Dreams, lock: DreamLock) {
  const { clock, settings, env } = core
  const counted = createLru<string, number>(MOST_KEPT)
  const lastChecks = createLru<string, DreamCheck>(MOST_KEPT)

  const looksAt = ({ dir, root, off }: Directory, session: SessionKey | undefined, onCount: () => void): Looks => ({
    enabled: () => ({
      isOn: settings.current().dream.enabled,
      off: off ?? projects.offBecause(root, root),
      isRemote: flag(env.CLAUDE_CODE_REMOTE) === 'set',
      isDailyLog: settings.current().dailyLog.enabled,
    }),
    lastMs: () => lock.lastMs(dir),
    countedMs: () => counted.get(dir),
    failures: () => dreams.failures(dir, clock.now() - DAY_MS),
    sessionsSince: (sinceMs) => {
      onCount()
      return sessions.touched.count({ projects: rootsOf(projects, dir), sinceMs, except: session })
    },
    holder: () => lock.holder(dir),
  })

  return {
    check: (at: Directory, trigger: Trigger, session?: SessionKey): Verdict => {
      const nowMs = clock.now()
      const looks = looksAt(at, session, () => counted.set(at.dir, nowMs))
      const verdict = walkGates(looks, { trigger, limits: settings.current().dream, nowMs })
      const { gate, gates } = verdict
      lastChecks.set(at.dir, { at: new Date(nowMs).toISOString(), trigger, ...(gate && { gate }), gates })
      return verdict
    },
    explain: (at: Directory, trigger: Trigger): Verdict => {
      const asked = { trigger, limits: settings.current().dream, nowMs: clock.now(), goOn: 'at-closed' as const }
      const looks = looksAt(at, undefined, () => {})
      return walkGates(looks, asked)
    },
    lastCheck: (dir: string): DreamCheck | undefined => lastChecks.get(dir),
  }
}

/** Without the directories of sub-agents. */
export function dreamedProjects(projects: Projects): Directory[] {
  return projects.directories.list().filter(({ dir, root }) => !isAgentDir(dir) && dir !== root)
}

/** What is said in a private or paused project is not for a dream, not even one of another project. */
export function rootsOf(projects: Projects, dir: string): string[] {
  return dreamedProjects(projects).flatMap(({ dir: of, root }) =>
    of === dir && projects.offBecause(root, root) === undefined ? [root] : [],
  )
}
