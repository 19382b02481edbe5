/** What a model finds worth keeping in a slice of a session, saved as a whole; `model/` decides what it may keep. */
import { type Agent, whyNotDone } from '../agent/agent.ts'
import type { Core } from '../core.ts'
import { LOST } from '../jobs/job.ts'
import { logFile } from '../memory/file-names.ts'
import type { Memory } from '../memory/memory.ts'
import type { Notes } from '../notes/notes.ts'
import type { Counts, Kept, Slice } from './extraction.ts'
import { dayOfPart } from './session-words.ts'

/** Of one run. The day's budget limits dollars, so a run is limited by these. */
const LIMITS = { outputTokens: 24_000, wallMs: 240_000 }
const ANSWER_TOKENS = 8_000

export function createByModel({ settings, clock }: Core, memory: Memory, notes: Notes, agent: Agent) {
  const attempt = async ({ key, row, cwd, root, dir, part, signal, mayWrite, inTransaction }: Slice) => {
    // 1. The prefix that the session's jobs share.
    const last = part.at(-1)
    const { prefix, names, messages } = await agent.sessionPrefix({
      key,
      notes: () => notes.textOf(key),
      row,
      upTo: last?.id ?? 0,
      lastAt: last?.at ?? 0,
      model: settings.current().model.extract,
      signal,
    })
    const isHandedOver = names.size === 0
    const told = new Set(names.values())
    const silent = new Set(messages.filter(({ text }) => text.trim() === '').map(({ id }) => id))
    const isTold = (uid: string) => told.has(uid) || silent.has(uid)
    if ((!isHandedOver || messages.length === 0) && part.some(({ by, uid }) => by === 'person' && !isTold(uid)))
      return 'untold'

    // 2. The question.
    const { extractionRun } = await import('./model/extraction-run.ts')
    const nowMs = clock.now()
    const changes = memory.beginRun({ cwd, env: {} })
    const { dailyLog, team } = settings.current()
    const log = dailyLog.enabled ? logFile(dayOfPart(part, nowMs)) : undefined
    const ground = { dir, changes, log, team: team.enabled }
    const { finish, ...task } = extractionRun(ground, { sessionId: key.sessionId, messages, names, news: part, nowMs })

    // 3. The run. It changes everything at its end, at once.
    let counts: Counts | 'lost' | undefined
    const report = await agent.run({
      ...task,
      job: 'extraction',
      project: root,
      prefix,
      signal,
      policy: { may: 'memory' },
      reach: agent.reachOf(dir, [root, ...new Set(part.map(({ path }) => path))]),
      limits: { turns: task.turns, ...LIMITS },
      maxTokens: ANSWER_TOKENS,
      atTurnLimit: 'apply',
      until: 'changed',
      apply: async (drafts) => {
        const done = await changes.apply(await finish(drafts), { inTransaction, mayWrite })
        counts =
          done === 'lost' ? done : { saved: done.saved.length, waiting: done.waiting, known: 0, refused: done.refused }
      },
      ownsLease: mayWrite,
    })
    const notDone = whyNotDone(report) ?? (counts === 'lost' ? LOST : undefined)
    if (notDone) return { kept: { notDone }, isHandedOver }
    if (!counts) return { kept: { skip: 'nothing to save' }, isHandedOver }
    const truncated = report.ended === 'truncated' && { truncated: true as const }
    return { kept: { runId: changes.runId, counts: counts as Counts, ...truncated }, isHandedOver }
  }

  /** `untold`: the model cannot be told all that a person said, so rules have to look at it. */
  return async (slice: Slice): Promise<Kept | 'untold'> => {
    if (!slice.part.some(({ by }) => by === 'person')) return { skip: 'no person said anything in it' }
    if (await slice.wroteItself()) return { skip: 'the agent wrote memories itself' }
    const tried = await attempt(slice)
    if (tried === 'untold') return tried
    const { kept, isHandedOver } = tried
    // The harness's prefix is dropped when the server rejects it: the second attempt tells the session itself.
    const isDropped = isHandedOver && kept.notDone && 'rejected' in kept.notDone && !slice.signal.aborted
    if (!isDropped) return kept
    const again = await attempt(slice)
    return again === 'untold' ? again : again.kept
  }
}
