/** What is kept of what was said, put together: the memories, the rules, the model, and what the session is told of it. */

import { whyNotDone } from '../agent/agent-run.ts'
import type { Forking } from '../agent/forking.ts'
import type { Prefix } from '../agent/prefix.ts'
import type { Databases } from '../db/databases.ts'
import { evidenceIn, markUntrusted, memoryOf } from '../memory/change-run.ts'
import { logFile } from '../memory/file-names.ts'
import type { Memory } from '../memory/memory.ts'
import type { Model } from '../models/model.ts'
import type { Clock } from '../platform/clock.ts'
import type { Said } from '../sessions/message-table.ts'
import { createNotices, createProgress } from '../sessions/notices.ts'
import type { LiveSettings } from '../settings/live.ts'
import { messagesAt } from '../transcripts/digest.ts'
import { createByModel } from './by-model.ts'
import { createByRules } from './by-rules.ts'
import { createExtraction } from './extract.ts'
import { createReading } from './reading.ts'
import { createTelling } from './telling.ts'

type Deps = {
  store: Databases
  said: Said
  settings: LiveSettings
  clock: Clock
  memory: Memory
  model: Model
  forking: Forking
  home: string
  redact: (text: string) => Promise<{ text: string }>
  blamesDisk: (error: unknown) => boolean
}

/** Of one run. Dollars are minded by the day's cap: what a run costs is bounded by these. */
const LIMITS = { outputTokens: 24_000, wallMs: 240_000 }
const ANSWER_TOKENS = 8_000

export function createLearning(deps: Deps) {
  const { store, said, settings, clock, memory, model, forking, home, redact, blamesDisk } = deps
  const telling = createTelling({ notices: createNotices(store.history), clock })
  const reading = createReading({ said, messagesAt, redact })
  const isLogging = () => settings.current().dailyLog.enabled
  const placeOf = (cwd: string) => memory.find(cwd, { actor: 'agent:extract', env: {} })
  const byModel = createByModel({
    memoriesAt: (cwd) => {
      const { dir, root } = placeOf(cwd)
      const run = memory.changing.begin({ kind: 'extract', cwd, env: {} })
      const team = settings.current().team.enabled ? 'on' : 'off'
      return { ...run, dir, root, team, logFile, memoryOf, markUntrusted, evidenceIn }
    },
    tell: ({ key, row, part, signal }) =>
      forking.tell({
        key: { harness: key.harness, session: key.sessionId },
        row,
        upTo: part.at(-1)?.id ?? 0,
        lastAt: part.at(-1)?.at ?? 0,
        model: settings.current().model.extract,
        signal,
      }),
    fork: async ({ prefix, memories, slice, directive, shown, turns, check, cite, onShown, apply }) => {
      const transcripts = [...new Set(slice.part.map(({ path }) => path))]
      const report = await forking.run({
        job: 'extraction',
        project: memories.root,
        prefix: prefix as Prefix,
        directive,
        policy: { may: 'memory' },
        reach: forking.reachOf(memories.dir, [memories.root, ...transcripts]),
        limits: { turns, ...LIMITS },
        maxTokens: ANSWER_TOKENS,
        atTurnLimit: 'apply',
        until: 'changed',
        shown,
        check,
        cite,
        onShown,
        apply,
        stillOurs: slice.mayWrite,
        signal: slice.signal,
      })
      const notDone = whyNotDone(report)
      return notDone ? { notDone } : { truncated: report.ended === 'truncated' }
    },
    byRules: (slice) => byRules(slice),
    isLogging,
    clock,
  })
  const byRules = createByRules({
    reading,
    save: (run) => memory.saving.save({ kind: 'extract', env: {}, ...run }),
    isLogging,
    clock,
  })
  const kind = createExtraction({
    said,
    progress: createProgress(store.history),
    reading,
    placeOf,
    byRules,
    byModel,
    isOnline: () => model.mode() === 'online',
    notify: telling.saved,
    settings: () => settings.current().extraction,
    home,
    blamesDisk,
    clock,
  })
  return { kind, telling }
}
