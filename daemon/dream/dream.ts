/** Dreams put a memory directory in order, by a model or by rules. One is applied as a whole, or nothing is changed. */
import { existsSync } from 'node:fs'
import type { Caller } from '../../schema/caller.ts'
import type { DreamBegun, DreamFacts, DreamReport, DreamStatus } from '../../schema/dream.ts'
import type { Agent } from '../agent/agent.ts'
import type { Core } from '../core.ts'
import { type Claimed, type JobKind, type Outcome, type RunContext, skipped } from '../jobs/job.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { Schedule } from '../jobs/scheduler.ts'
import { driftOf } from '../memory/drift.ts'
import { newRunId } from '../memory/journal.ts'
import type { Memory } from '../memory/memory.ts'
import type { Models } from '../models/models.ts'
import { message } from '../platform/files.ts'
import type { Projects } from '../projects/projects.ts'
import type { SessionKey } from '../sessions/message-table.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Asked } from './ask.ts'
import { dailyLogs } from './daily-logs.ts'
import { createDreamLock } from './dream-lock.ts'
import {
  createDreamProgress,
  dreamReport,
  type Ended,
  endedBy,
  NOTHING_SPENT,
  notAtOnce,
  noticeOf,
  whyDenied,
  whyNotAcquired,
} from './dream-report.ts'
import { createDreams, type DreamRecord, isAtEnd } from './dream-table.ts'
import { believed, createGates, type Directory, dreamedProjects, rootsOf, type Trigger, type Verdict } from './gates.ts'
import { planDream } from './plan.ts'

type Input = { cwd: string; trigger: Trigger; session?: SessionKey }
type Begun = Pick<DreamRecord, 'runId' | 'dir' | 'watermark' | 'trigger' | 'beganMs'>

const LISTED_SESSIONS = 100
const CHECK = 'dream-check'

export function createDream(
  core: Core,
  projects: Projects,
  jobs: Jobs,
  sessions: Sessions,
  memory: Memory,
  agent: Agent,
  models: Models,
) {
  const { clock, settings, disk, db, logged } = core
  const dreams = createDreams(db.history)
  const lock = createDreamLock(core, dreams)
  const gates = createGates(core, projects, sessions, dreams, lock)
  const progress = createDreamProgress(core)
  const killed = new Set<string>()
  const placeOf = (cwd: string) => projects.find(cwd, { actor: 'agent:dream', env: {} })

  const run = async (job: Claimed, context: RunContext): Promise<Outcome> => {
    const input = job.input as Input
    const dir = job.key
    // 1. Whether it still may run.
    const { root, off } = placeOf(input.cwd)
    if (off !== undefined) return skipped(`memory is off: ${off}`)
    if (!existsSync(dir)) return skipped('there are no memories')
    const isOnline = models.mode() === 'online'
    const waits = isOnline ? models.waits() : undefined
    if (waits) return waits

    // 2. The lock.
    const beganMs = clock.now()
    const runId = newRunId('dream', beganMs)
    const acquired = lock.acquire(dir, runId)
    if (!('lock' in acquired)) return skipped(whyNotAcquired(acquired))
    const held = acquired.lock
    const watched = progress.begin(dir, { project: root, jobId: job.id })
    const dream: Begun = { runId, dir, watermark: job.watermark, trigger: input.trigger, beganMs }
    /** Filled in as they become known: the report tells the cost of a failed dream, too. */
    const facts: Partial<DreamFacts> = {}
    const perform = async (): Promise<Ended> => {
      // 3. What there is.
      const seen = memory.consolidation.read(dir)
      const lastMs = believed(held.lastMs, dream.beganMs)
      const since = { projects: rootsOf(projects, dir), sinceMs: lastMs ?? 0 }
      const touched = sessions.touched.list({ ...since, except: input.session }, LISTED_SESSIONS)
      const drift = seen.memories
        .map(({ file, text }) => ({ file, missing: driftOf(text, root) }))
        .filter(({ missing }) => missing.length > 0)
      const { logs, left, to } = dailyLogs(dir, dreams.unreadSince(dir, lastMs))
      watched.sessions(touched.length)
      Object.assign(facts, {
        ...{ mode: isOnline ? 'model' : 'rules', sessions: touched.length, drifted: drift.length, logs: logs.length },
        ...{ turns: 0, denials: 0, spent: NOTHING_SPENT },
        ...(to !== undefined && { logsLeft: left, logsTo: to }),
      })

      // 4. The drafts of a model. Nothing is on disk yet.
      const { maxDeletions } = settings.current().dream
      let asked: Asked = { turns: 0, denials: 0, spent: NOTHING_SPENT, drafts: [] }
      if (isOnline && (seen.memories.length > 0 || logs.length > 0)) {
        // Loaded with the first dream: most starts of a daemon have none.
        const { askForDream } = await import('./ask.ts')
        asked = await askForDream(core, memory, agent, {
          ...{ dir, root, runId, seen, sessions: touched, lastMs, drift, logs, maxDeletions },
          ...{ ownsLease: context.ownsLease, signal: context.signal },
          onTurn: (turn, spent) => {
            Object.assign(facts, { turns: turn.turn, spent })
            watched.turn(turn, spent)
            context.progress(`turn ${turn.turn}, ${turn.files.length} files`)
          },
        })
      }
      const { turns, denials, spent } = asked
      Object.assign(facts, { turns, denials, spent })
      if ('notDone' in asked) return { outcome: 'failed', why: asked.why, notDone: asked.notDone }
      if ('aborted' in asked) return { outcome: 'killed', why: asked.aborted }
      if (context.signal.aborted) return { outcome: 'killed', why: 'it was stopped' }

      // 5. Rules work on the drafts and check whether anything is lost; everything is written at once.
      const { drafts } = asked
      const heard = logs.map(({ text }) => text).join('\n')
      const [newest] = touched
      const session = input.session ?? (newest && { harness: newest.harness, sessionId: newest.id })
      watched.updating()
      const offNow = () => placeOf(input.cwd).off
      const done = await memory.consolidation.consolidate({
        dir,
        runId,
        plan: (now) => planDream(now, { drafts, maxDeletions, heard }),
        inTransaction: ({ counts }, settled) => {
          const why = settled.how === 'review' ? settled.why : whyDenied(denials)
          record(dream, { outcome: settled.how, why, facts: { ...facts, ...counts } })
          const isTold = session !== undefined && settled.how !== 'nothing'
          const withdraw = isTold ? sessions.notices.dreamed(session, noticeOf(settled, counts, spent)) : undefined
          return () => {
            dreams.remove(runId)
            withdraw?.()
          }
        },
        mayWrite: () => context.ownsLease() && !context.signal.aborted && held.isOurs() && offNow() === undefined,
      })
      if (done === 'lost') {
        const off = offNow()
        return { outcome: 'killed', why: off === undefined ? 'it was taken over meanwhile' : `memory is off: ${off}` }
      }
      Object.assign(facts, done.plan.counts)
      return { outcome: done.settled.how, isOnRecord: true }
    }
    const ended = await perform().catch((error): Ended => {
      // Written only in part: the journal has it, and it happens.
      const known = dreams.get(runId)
      if (known) return { outcome: known.outcome, ...(known.why && { why: known.why }), isOnRecord: true }
      return endedBy(error, (cause) => disk.blames(cause) || memory.writer.blames(dir, cause))
    })

    // 6. The lock last: if the process dies before, its note restores the file.
    const { outcome, why } = ended
    const isDone = isAtEnd(outcome)
    const isKilled = killed.delete(job.id)
    try {
      if (!ended.isOnRecord && (outcome !== 'killed' || isKilled)) record(dream, { outcome, why, facts })
    } finally {
      watched.end(isDone ? 'completed' : outcome === 'killed' ? 'killed' : 'failed', why)
      if (isDone) held.succeed()
      else held.rollBack()
    }
    if (ended.surprise !== undefined) throw ended.surprise
    const { created, merged, updated, removed } = facts
    if (isDone) return { done: { outcome, created, merged, updated, removed }, runId }
    return notAtOnce(ended.notDone ?? { failed: why ?? 'it was stopped' }, facts)
  }

  const record = (dream: Begun, { outcome, why, facts }: Pick<DreamRecord, 'outcome' | 'why' | 'facts'>) =>
    dreams.add({ ...dream, endedMs: clock.now(), outcome, why, facts })

  const job: JobKind = {
    name: 'dream',
    model: 'if-online',
    alreadyDone: ({ key, watermark }) => dreams.covers(key, watermark),
    run: (claimed, context) =>
      run(claimed, context).catch((error) => {
        if (disk.blames(error) || memory.writer.blames(claimed.key, error)) return { postponed: message(error) }
        throw error
      }),
    killed: ({ id }) => void killed.add(id),
  }

  /** Sessions up to the same point are dreamed about once, unless a person or the night asks. */
  const start = (at: Directory, { trigger, lastMs }: Verdict, session?: SessionKey) => {
    const [newest] = sessions.touched.list({ projects: rootsOf(projects, at.dir), sinceMs: lastMs ?? 0 }, 1)
    const isWanted = trigger === 'person' || trigger === 'nightly'
    const watermark = isWanted ? `${trigger} ${clock.now()}` : `${lastMs ?? 0} ${newest?.lastAt ?? 0}`
    const input: Input = { cwd: at.root, trigger, ...(session && { session }) }
    return jobs.enqueue({ kind: 'dream', key: at.dir, dir: at.dir, watermark, input })
  }

  const startIfDue = (at: Directory, trigger: Trigger, session?: SessionKey) => {
    const verdict = gates.check(at, trigger, session)
    if (verdict.gate === undefined) start(at, verdict, session)
    return verdict
  }

  const checkJob: JobKind = {
    name: CHECK,
    model: 'never',
    low: true,
    run: async ({ input }) => {
      const { trigger } = input as { trigger: Trigger }
      // Where several projects share a directory, one with memory on stands for it.
      const isOn = ({ root }: Directory) => Number(projects.offBecause(root, root) === undefined)
      const byOn = dreamedProjects(projects).sort((one, other) => isOn(one) - isOn(other))
      const stopped: Record<string, number> = {}
      for (const at of new Map(byOn.map((each) => [each.dir, each])).values()) {
        const { gate = 'started' } = startIfDue(at, trigger)
        stopped[gate] = (stopped[gate] ?? 0) + 1
      }
      return { done: stopped }
    },
  }

  const reportOf = (dream: DreamRecord): DreamReport => {
    const { history } = memory
    const isInJournal = history.hasRun(dream.runId)
    const undone = isInJournal && history.run(dream.runId).undone
    return dreamReport(dream, { isInJournal, undone, files: history.filesOf(dream.runId) })
  }

  return {
    job,
    checkJob,
    schedules: (): Schedule[] => {
      const { dream, dailyLog } = settings.current()
      if (!dream.enabled) return []
      const trigger: Trigger = dailyLog.enabled ? 'nightly' : 'cron'
      const expression = dailyLog.enabled ? dailyLog.cron : dream.cron
      return [
        { name: 'dream', expression, due: (watermark) => ({ kind: CHECK, key: 'all', watermark, input: { trigger } }) },
      ]
    },
    recover: lock.recover,
    turnEnded: ({ harness, sessionId, project }: SessionKey & { project?: string | undefined }): void => {
      if (project === undefined) return
      try {
        for (const at of dreamedProjects(projects).filter(({ root }) => root === project))
          startIfDue(at, 'turn', { harness, sessionId })
      } catch (error) {
        logged('could not look whether a dream is due')(error)
      }
    },
    begin: (
      cwd: string,
      caller: Caller,
      { force, explain }: { force?: boolean | undefined; explain?: boolean | undefined },
    ): DreamBegun => {
      const at = projects.find(cwd, caller)
      // With daily logs dreams start at night only, so that trigger is explained.
      const byItself = explain && settings.current().dailyLog.enabled ? 'nightly' : 'asked'
      const trigger = force ? 'person' : byItself
      const running = progress.live(at.dir)
      if (running?.state === 'running' && !explain) return { started: true, jobId: running.jobId }
      const verdict = explain ? gates.explain(at, trigger) : gates.check(at, trigger)
      const begun = verdict.gate === undefined && !explain ? start(at, verdict) : undefined
      if (begun && begun.as !== 'known') return { started: true, jobId: begun.id }
      const { gate, gates: passed } = verdict
      const why = begun ? `nothing was said since ${begun.id} ended; memoryd jobs show ${begun.id}` : verdict.why
      const lastCheck = gates.lastCheck(at.dir)
      const facts = Object.assign({}, ...passed.filter((each) => !gate || each.gate === gate).map((each) => each.facts))
      return {
        ...{ started: false, facts, gates: passed },
        ...(gate && { gate }),
        ...(why && { why }),
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
      const lastCheck = gates.lastCheck(dir)
      return { ...(live && { live }), ...(last && { last: reportOf(last) }), ...(lastCheck && { lastCheck }) }
    },
  }
}

export type Dream = ReturnType<typeof createDream>
