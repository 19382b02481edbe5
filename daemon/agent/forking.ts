/**
 * Runs of models over what was said, put together: what a session's jobs are told of it, and the forks that go on from
 * there. Loaded with the first of them: most starts of a daemon ask no model.
 */
import type { Databases } from '../db/databases.ts'
import type { Model } from '../models/model.ts'
import { costInNanos, factsOf } from '../models/models.ts'
import type { Clock } from '../platform/clock.ts'
import type { Log } from '../platform/log.ts'
import { createTurns } from '../platform/queue.ts'
import type { Said } from '../sessions/message-table.ts'
import type { LiveSettings } from '../settings/live-settings.ts'
import { messagesAt } from '../transcripts/digest.ts'
import { withoutPrivate } from '../transcripts/injected.ts'
import type { Agent } from './agent.ts'
import type { ForkReport, Task } from './agent-run.ts'
import type { Reach } from './permissions.ts'
import type { Handover, Prefix } from './prefix.ts'
import type { RenderingKey } from './rendering.ts'
import { createSessionMessages } from './session-messages.ts'

type Deps = {
  store: Databases
  said: Said
  stateDir: string
  settings: LiveSettings
  model: Model
  clock: Clock
  log: Log
  /** Where programs are looked for. */
  searchPath: string
  redact: (text: string) => Promise<{ text: string }>
  /** The notes of a session as they are now: they stand for what is too long ago to be told. */
  notesOf: (session: RenderingKey) => string
}

/** `upTo`: the number of the last message that is told. */
export type Telling = {
  key: RenderingKey
  row: number
  upTo: number
  lastAt: number
  model: string
  signal: AbortSignal
}

/** A person who said nothing for so long will not go on soon enough for what a server keeps. */
const STILL_THERE_MS = 3_600_000

export function createForking(deps: Deps) {
  const { store, said, stateDir, settings, model, clock, log, searchPath, notesOf } = deps
  const messagesOf = createSessionMessages({ said, messagesAt })
  const turns = createTurns()
  const redact = async (text: string) => {
    await turns(text.length)
    return (await deps.redact(withoutPrivate(text))).text
  }
  let made: Promise<Agent> | undefined
  const load = async () =>
    (await import('./agent.ts')).createAgent({
      history: store.history,
      clock,
      own: () => {
        const door = model.door()
        const { prefix } = settings.current().extraction
        return { prefix, endpoint: door?.baseUrl ?? '', fingerprint: door?.fingerprint }
      },
      provider: model.provider,
      searchPath,
      redact,
      priceOf: (name, usage) => {
        const nanos = costInNanos(usage, factsOf(name, settings.current().models))
        return nanos === undefined ? undefined : nanos / 1e9
      },
      log: (facts) => log.info(facts, 'a model was asked'),
      onDenied: (facts) => log.info(facts, 'a model asked for what it may not have'),
    })
  const agent = () => {
    made ??= load()
    return made
  }
  return {
    /** What the jobs of a session share. */
    tell: async ({ key, row, upTo, lastAt, model: name, signal }: Telling) => {
      const { anchorOf, told } = await agent()
      const messages = await messagesOf({ row, from: anchorOf(key), upTo, signal })
      const keep = clock.now() - lastAt > STILL_THERE_MS ? '5m' : '1h'
      return { messages, ...(await told({ key, messages, notes: () => notesOf(key), model: name, keep })) }
    },
    /** For a job that is about no session. */
    toldNothing: async (key: string, name: string): Promise<Prefix> => (await agent()).toldNothing(key, name),
    run: async (task: Task): Promise<ForkReport> => {
      const { run, dropHandover } = await agent()
      const report = await run(task)
      if (task.prefix.kind === 'harness' && report.failure?.permanent) dropHandover(task.prefix.key)
      return report
    },
    /** The harness's own request with which a turn ended. */
    handOver: async (
      { harness, sessionId }: { harness: string; sessionId: string },
      handover: Handover,
    ): Promise<string | undefined> => {
      if (settings.current().extraction.prefix !== 'harness') return 'extraction.prefix is not harness'
      const kept = (await agent()).handOver({ harness, session: sessionId }, handover)
      return 'skip' in kept ? kept.skip : undefined
    },
    /** Says beforehand that what a session's jobs share will not be what it was. */
    announce: async (key: RenderingKey, because: string): Promise<void> => (await agent()).announce(key, because),
    /** Where a run may look: never at what the daemon keeps for itself, nor into what is private. */
    reachOf: (memoryDir: string, readable: readonly string[], files: readonly string[] = []): Reach => ({
      memoryDir,
      readable,
      files,
      closed: [stateDir, ...settings.current().private],
    }),
  }
}

export type Forking = ReturnType<typeof createForking>
