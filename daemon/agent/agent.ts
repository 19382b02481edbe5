/**
 * Runs of models over what was said in a session: the prefix that all jobs of a session share, and the runs that go on from
 * it. A prefix is the harness's own request where it handed one over, else the daemon's rendering of the session.
 */
import type { Core } from '../core.ts'
import type { Models } from '../models/models.ts'
import type { Said, SessionKey } from '../sessions/message-table.ts'
import { type RunReport, runTask } from './agent-run.ts'
import { createCacheWatch } from './cache-watch.ts'
import {
  createHarnessRequests,
  daemonPrefix,
  type HarnessRequest,
  harnessPrefix,
  type Keep,
  type LastWords,
  type Prefix,
} from './prefix.ts'
import { createRendering, readMessages, type SessionMessage, sessionName } from './rendering.ts'
import type { Reach, Task } from './task.ts'

type Session = {
  key: SessionKey
  /** For a rendering: a harness has chosen its own. */
  model: string
  /** The notes of the session as they are now: they stand for what is too long ago to be told. */
  notes: () => string
}

/** `upTo`: the number of the last message that is told; `lastAt`: when it was said. */
type SessionPart = Session & { row: number; upTo: number; lastAt: number; signal: AbortSignal }

/** `names`: what a model calls each message, and its id. Empty where it has only seen the request of a harness. */
export type SessionPrefix = { prefix: Prefix; names: ReadonlyMap<string, string> }

/** After so long a break a person will not go on soon enough for what a server keeps. */
const BREAK_MS = 3_600_000

export function createAgentRunner(core: Core, models: Models, said: Said) {
  const { clock, settings, stateDir } = core
  const cacheWatch = createCacheWatch(clock)
  const rendering = createRendering(core)
  const harnessRequests = createHarnessRequests(clock)

  /** Says beforehand that the prefix of a session will not be what it was. */
  const announceBreak = (key: SessionKey, because: string) => cacheWatch.announce(sessionName(key), because)

  /** `messages`: in order, from the anchor on. */
  const prefixOf = async (
    { key, model, notes }: Session,
    messages: readonly SessionMessage[],
    keep: Keep,
  ): Promise<SessionPrefix> => {
    const name = sessionName(key)
    const isWanted = settings.current().extraction.prefix === 'harness'
    const params = isWanted ? harnessRequests.find(name, models.door(), lastWords(messages)) : undefined
    if (params) return { prefix: harnessPrefix(name, params), names: new Map() }
    const { broken, ...rendered } = await rendering.render({ key, messages, notes })
    if (broken) announceBreak(key, broken)
    const names = new Map(rendered.messages.map((message) => [message.name, message.id]))
    return { prefix: daemonPrefix({ key: name, model, keep }, rendered), names }
  }

  return {
    announceBreak,
    prefixOf,
    /** What the jobs of a session share, and the messages it was made from. */
    sessionPrefix: async ({ row, upTo, lastAt, signal, ...session }: SessionPart) => {
      const from = rendering.anchorOf(session.key)
      const messages = await readMessages(said, { row, from, upTo, signal })
      const keep = clock.now() - lastAt > BREAK_MS ? '5m' : '1h'
      return { messages, ...(await prefixOf(session, messages, keep)) }
    },
    /** For a job that is about no session; `key` says about what. */
    barePrefix: (key: string, model: string): Prefix => daemonPrefix({ key, model, keep: '5m' }),
    run: async (task: Task): Promise<RunReport> => {
      const report = await runTask(core, models, cacheWatch, task)
      if (task.prefix.kind === 'harness' && report.failure?.permanent) harnessRequests.drop(task.prefix.key)
      return report
    },
    /** The harness's own request with which a turn ended. Returns why it is not kept. */
    keepHarnessRequest: (key: SessionKey, request: HarnessRequest): string | undefined => {
      if (settings.current().extraction.prefix !== 'harness') return 'extraction.prefix is not harness'
      const kept = harnessRequests.keep(sessionName(key), request)
      return 'skip' in kept ? kept.skip : undefined
    },
    /** Where a run may look: never at what the daemon keeps for itself, nor into what is private. */
    reachOf: (memoryDir: string, readable: readonly string[], files: readonly string[] = []): Reach => ({
      memoryDir,
      readable,
      files,
      closed: [stateDir, ...settings.current().private],
    }),
  }
}
export type Agent = ReturnType<typeof createAgentRunner>

function lastWords(messages: readonly SessionMessage[]): LastWords {
  const lastBy = (who: SessionMessage['by']) =>
    messages.findLast(({ by, text }) => by === who && text.trim() !== '')?.text
  return { agent: lastBy('agent'), person: lastBy('person') }
}
