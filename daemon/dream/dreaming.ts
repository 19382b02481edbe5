/** Everything about dreams, put together: when one is due, who makes it, and what is told of it. */
import type { Caller } from '../../schema/caller.ts'
import type { DreamBegun, DreamReport, DreamStatus } from '../../schema/dream.ts'
import type { Environment } from '../../schema/rendezvous.ts'
import type { Agent } from '../agent/agent.ts'
import type { Databases } from '../db/databases.ts'
import type { JobKind } from '../jobs/job.ts'
import type { Due } from '../jobs/job-table.ts'
import type { Schedule } from '../jobs/scheduler.ts'
import { newRunId } from '../memory/journal.ts'
import type { createMemory } from '../memory/memory.ts'
import type { Model } from '../models/models.ts'
import type { Clock } from '../platform/clock.ts'
import type { Events } from '../platform/events.ts'
import { isAgentDir } from '../projects/memory-dir.ts'
import type { Projects } from '../projects/projects.ts'
import { createTouched } from '../sessions/sessions.ts'
import type { LiveSettings } from '../settings/live-settings.ts'
import { createDreamAsking } from './ask.ts'
import { createDream, type DreamInput } from './dream.ts'
import { createDreamLock } from './dream-lock.ts'
import { createDreamProgress, dreamReport } from './dream-report.ts'
import { createDreams, type Dream, isAtEnd } from './dream-table.ts'
import { createChecks, type Trigger, type Verdict } from './gates.ts'

type Deps = {
  store: Databases
  stateDir: string
  env: Environment
  settings: LiveSettings
  clock: Clock
  events: Events
  memory: ReturnType<typeof createMemory>
  projects: Projects
  model: Model
  agent: Agent
  redact: (text: string) => Promise<{ text: string }>
  notify: Parameters<typeof createDream>[0]['notify']
  enqueue: (due: Due) => { id: string; as: string }
  blamesDisk: (error: unknown) => boolean
  /** Something that nobody waits for went wrong. */
  onError: (error: unknown) => void
}

const ROUND = 'dream-check'

type Turn = { harness: string; sessionId: string; cwd?: string | undefined; project?: string | undefined }

export function createDreaming(deps: Deps) {
  const { store, stateDir, settings, clock, events, memory, projects, model, agent, redact } = deps
  const dreams = createDreams(store.history)
  const touched = createTouched(store.index)
  const lock = createDreamLock({
    stateDir,
    clock,
    pid: process.pid,
    isDone: (runId) => isAtEnd(dreams.get(runId)?.outcome),
  })
  const progress = createDreamProgress({ publish: (event) => events.publish(event), clock })
  /** Those of projects: what sub-agents keep for themselves is theirs to tidy. */
  const known = () => projects.directories.list().filter(({ dir, root }) => !isAgentDir(dir) && dir !== root)
  const isOn = (root: string) => projects.offBecause(root, root) === undefined
  /** What is said in a project that is private or paused is not for a dream, not even of another one beside it. */
  const rootsOf = (dir: string) => known().flatMap(({ dir: of, root }) => (of === dir && isOn(root) ? [root] : []))
  const checks = createChecks({
    lock,
    touched,
    failures: dreams.failures,
    rootsOf,
    offBecause: (root) => projects.offBecause(root, root),
    settings: () => ({ ...settings.current().dream, dailyLog: settings.current().dailyLog.enabled }),
    isRemote: isSet(deps.env.CLAUDE_CODE_REMOTE),
    isRunning: (dir) => progress.running(dir) !== undefined,
    pid: process.pid,
    clock,
  })

  const kind: JobKind = createDream({
    lock,
    dreams,
    touched,
    progress,
    rootsOf,
    placeOf: (cwd) => projects.find(cwd, { actor: 'agent:dream', env: {} }),
    model: () => {
      if (model.mode() === 'offline') return 'none'
      return model.waits() ?? 'there'
    },
    ask: createDreamAsking({ settings, clock, memory, agent, redact }),
    read: memory.consolidating.read,
    consolidate: (run) => memory.consolidating.consolidate(run),
    notify: deps.notify,
    newRunId: (nowMs) => newRunId('dream', nowMs),
    maxDeletions: () => settings.current().dream.maxDeletions,
    blamesDisk: deps.blamesDisk,
    clock,
  })

  /** What is said since then is dreamed about once; who asks for it gets another one. */
  const start = (at: { dir: string; root: string }, verdict: Verdict, session?: DreamInput['session']) => {
    const { trigger, lastMs } = verdict
    const [newest] = touched.list({ projects: rootsOf(at.dir), sinceMs: lastMs ?? 0 }, 1)
    const isWanted = trigger === 'person' || trigger === 'nightly'
    const watermark = isWanted ? `${trigger} ${clock.now()}` : `${lastMs ?? 0} ${newest?.lastAt ?? 0}`
    const input: DreamInput = { cwd: at.root, trigger, ...(session && { session }) }
    return deps.enqueue({ kind: 'dream', key: at.dir, dir: at.dir, watermark, input })
  }

  const consider = (at: { dir: string; root: string }, trigger: Trigger, session?: DreamInput['session']) => {
    const verdict = checks.check(at, trigger, session)
    if (verdict.gate === undefined) start(at, verdict, session)
    return verdict
  }

  const round: JobKind = {
    name: ROUND,
    model: false,
    low: true,
    run: async ({ input }) => {
      const { trigger } = input as { trigger: Trigger }
      // Where several share a directory, one that is on stands for it.
      const byOn = known().sort((one, other) => Number(isOn(one.root)) - Number(isOn(other.root)))
      const seen = new Map(byOn.map((each) => [each.dir, each]))
      const stopped: Record<string, number> = {}
      for (const at of seen.values()) {
        const { gate = 'started' } = consider(at, trigger)
        stopped[gate] = (stopped[gate] ?? 0) + 1
      }
      return { done: stopped }
    },
  }

  const reportOf = (dream: Dream): DreamReport => {
    const { history } = memory
    const isInJournal = history.hasRun(dream.runId)
    const undone = isInJournal && history.run(dream.runId).undone
    return dreamReport(dream, { isInJournal, undone, files: history.filesOf(dream.runId) })
  }

  return {
    kinds: [kind, round],
    schedules: (): Schedule[] => {
      const { dream, dailyLog } = settings.current()
      if (!dream.enabled) return []
      const trigger: Trigger = dailyLog.enabled ? 'nightly' : 'cron'
      const expression = dailyLog.enabled ? dailyLog.cron : dream.cron
      const due = (watermark: string): Due => ({ kind: ROUND, key: 'all', watermark, input: { trigger } })
      return [{ name: 'dream', expression, due }]
    },
    /** Puts back what dead holders of locks left. */
    recover: lock.recover,
    /** One stat, nearly always. */
    turnEnded: ({ harness, sessionId, project }: Turn): void => {
      if (project === undefined) return
      try {
        for (const at of known().filter(({ root }) => root === project)) consider(at, 'turn', { harness, sessionId })
      } catch (error) {
        // Whoever reads transcripts goes on reading.
        deps.onError(error)
      }
    },
    begin: (
      cwd: string,
      caller: Caller,
      { force = false, explain = false }: { force?: boolean | undefined; explain?: boolean | undefined },
    ): DreamBegun => {
      const at = projects.find(cwd, caller)
      // With daily logs only the night begins one by itself, so that is what is explained.
      const byItself = explain && settings.current().dailyLog.enabled ? 'nightly' : 'asked'
      const trigger = force ? 'person' : byItself
      const goesOn = progress.running(at.dir)
      if (goesOn && !explain) return { started: true, jobId: goesOn.jobId }
      const verdict = explain ? checks.explain(at, trigger) : checks.check(at, trigger)
      const begun = verdict.gate === undefined && !explain ? start(at, verdict) : undefined
      if (begun && begun.as !== 'known') return { started: true, jobId: begun.id }
      const { gate, gates } = verdict
      const why = begun ? `nothing was said since ${begun.id} ended; memoryd jobs show ${begun.id}` : verdict.why
      const lastCheck = checks.last(at.dir)
      const facts = Object.assign({}, ...gates.filter((each) => !gate || each.gate === gate).map((each) => each.facts))
      return {
        started: false,
        ...(gate && { gate }),
        facts,
        ...(why && { why }),
        gates,
        ...(lastCheck && { lastCheck }),
      }
    },
    lastAt: (dir: string): { lastDreamAt?: string } => {
      const lastMs = lock.lastMs(dir)
      return lastMs === undefined ? {} : { lastDreamAt: new Date(lastMs).toISOString() }
    },
    status: (cwd: string, caller: Caller): DreamStatus => {
      const { dir, off } = projects.find(cwd, caller)
      if (off !== undefined) return {}
      const live = progress.live(dir)
      const last = dreams.last(dir)
      const lastCheck = checks.last(dir)
      return { ...(live && { live }), ...(last && { last: reportOf(last) }), ...(lastCheck && { lastCheck }) }
    },
  }
}

function isSet(value: string | undefined): boolean {
  return ['1', 'true', 'yes', 'on'].includes(value?.trim().toLowerCase() ?? '')
}
