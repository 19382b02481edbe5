/** Hooks, put together: what is told to sessions, what is read when they say that something happened, and who was seen. */
import type { Caller } from '../../schema/caller.ts'
import type { Status } from '../../schema/status.ts'
import type { Databases } from '../db/databases.ts'
import type { Background } from '../jobs/background.ts'
import type { Memory } from '../memory/memory.ts'
import type { Clock } from '../platform/clock.ts'
import type { LiveSettings } from '../settings/live.ts'
import type { Capture } from '../transcripts/capture.ts'
import { injectedBlock, stripInjected } from '../transcripts/injected.ts'
import { connectedHarnesses } from './connected.ts'
import type { SessionName } from './hook.ts'
import { createHooks, type HookDeps, harnesses } from './hooks.ts'
import { createHooksSeen } from './hooks-seen.ts'
import { createLastSeen } from './last-seen.ts'

type Deps = Pick<HookDeps, 'recall' | 'recallAgain' | 'readAhead' | 'notesOf' | 'mailFor' | 'acknowledge'> & {
  store: Databases
  stateDir: string
  settings: LiveSettings
  clock: Clock
  memory: Memory
  capture: Capture
  background: Pick<Background, 'enqueue'>
  /** Whether anything of a session was read. */
  isKnown: (session: SessionName) => boolean
  forgetsGiven: (session: SessionName) => void
  onError: (error: unknown) => void
}

/** What is made of a session when it is over. */
const AT_THE_END = ['extract', 'notes'] as const

export function createHooking(deps: Deps) {
  const { store, stateDir, settings, clock, memory, capture, background, isKnown, onError } = deps
  const lastSeen = createLastSeen({ rows: createHooksSeen(store.history), clock, onError })

  /** A path that is no transcript is no trouble of anybody's: sub-agents are told of that never wrote one. */
  const read = (path: string): Promise<void> => capture.pushing.written(path).catch(() => {})

  const ended = async (path: string | undefined, session: SessionName): Promise<void> => {
    if (path !== undefined) await read(path)
    if (!isKnown(session)) return
    const { harness, sessionId } = session
    const at = clock.now()
    for (const kind of AT_THE_END)
      background.enqueue({
        kind,
        key: `${harness} ${sessionId}`,
        watermark: `ended ${at}`,
        input: { harness, sessionId, at, final: true },
      })
  }

  const hooks = createHooks({
    ...deps,
    offBecause: (cwd, caller) => memory.find(cwd, caller).off,
    memoryPrompt: async (cwd: string, caller: Caller, session: SessionName) =>
      (await memory.prompting.prompt(cwd, caller, session)).text,
    forgets: (session) => {
      memory.prompting.renew(session)
      deps.forgetsGiven(session)
    },
    mark: injectedBlock,
    unmark: stripInjected,
    follow: (path) => void read(path),
    ended: (path, session) => void ended(path, session).catch(onError),
    seen: lastSeen.seen,
    deadlineMs: () => settings.current().recall.hookDeadlineMs,
    clock,
  })

  return {
    answer: hooks.answer,
    /** For `status`. */
    harnesses: (): Status['harnesses'] => {
      const connected = connectedHarnesses(stateDir)
      return harnesses.map(({ name }) => {
        const at = lastSeen.at(name)
        return {
          name,
          connected: connected.has(name),
          ...(at !== undefined && { lastHookAt: new Date(at).toISOString() }),
        }
      })
    },
    stop: lastSeen.stop,
  }
}

export type Hooking = ReturnType<typeof createHooking>
