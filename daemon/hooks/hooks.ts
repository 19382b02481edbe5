/**
 * Answers hooks: what a harness sends when something happens in a session, and what it shall tell its model. Never waits for a
 * model, never later than its deadline, and says nothing rather than something doubtful.
 */
import type { Caller } from '../../schema/caller.ts'
import type { PlainText } from '../../schema/contract.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Status } from '../../schema/process.ts'
import type { RecallAnswer } from '../../schema/recall.ts'
import type { Databases } from '../db/databases.ts'
import type { Background } from '../jobs/jobs.ts'
import type { Memory } from '../memory/memory.ts'
import type { Clock } from '../platform/clock.ts'
import { undoOf } from '../platform/if-lost.ts'
import type { Recall } from '../recall/recall.ts'
import type { LiveSettings } from '../settings/live-settings.ts'
import { injectedBlock, stripInjected } from '../transcripts/injected.ts'
import type { TranscriptReader } from '../transcripts/transcript-reader.ts'
import { compactionPart, fitted, notesPart, type Part, promptPart } from './answer.ts'
import {
  claudeCode,
  codex,
  type Fields,
  gemini,
  type Harness,
  type Hook,
  pi,
  readHook,
  type SessionName,
} from './harnesses.ts'
import { createMailGiving, type Giving, type Letter } from './mail-part.ts'
import { connectedHarnesses, createHooksSeen, createLastSeen } from './seen.ts'

export const harnesses: readonly Harness[] = [claudeCode, codex, gemini, pi]

/** Memories, marked and ready. `undo`: they did not reach the session, which may be given them again. */
export type Recalled = { text: string; undo?: (() => void) | undefined }

export type HookDeps = {
  /** Why memory is off in a folder, if it is. */
  offBecause: (cwd: string, caller: Caller) => string | undefined
  memoryPrompt: (cwd: string, caller: Caller, session: SessionName) => Promise<string>
  /** Memories for a prompt; at most so many bytes. */
  recall: (asked: SessionName & { cwd: string; query: string; mostBytes: number }, caller: Caller) => Promise<Recalled>
  /** The memories that the session was given before it was compacted, once more. */
  recallAgain: (session: SessionName & { cwd: string; mostBytes: number }, caller: Caller) => Promise<Recalled>
  /** A session begins: memories will be asked for soon. */
  readAhead: (cwd: string, caller: Caller) => void
  notesOf: (session: SessionName) => string
  mailFor: (session: SessionName) => Promise<readonly Letter[]>
  acknowledge: (session: SessionName, ids: string[]) => void
  /** The session knows nothing any more of what it was told. */
  forgets: (session: SessionName) => void
  /** Puts our mark around a text; what is marked is never learned from. */
  mark: (text: string) => string
  /** Takes out what was injected, by us or by anybody. */
  unmark: (text: string) => string
  /** There is something new in a transcript. */
  follow: (path: string, session: SessionName) => void
  /** The session is over: what is still to be made of it is due now. */
  ended: (path: string | undefined, session: SessionName) => void
  /** A hook of a harness arrived. */
  seen: (harness: string) => void
  deadlineMs: () => number
  clock: Pick<Clock, 'after'>
}

export type Said = PlainText | undefined

/** Takes note of memories that are about to be told. */
type Noted = (recalled: Recalled) => string

/** The last line of an answer may be written after its hook has run: 13 to 97 ms were seen. */
const LAST_LINE_MS = 150
/** Recall minds the deadline by itself; this is for everything else. */
const GRACE_MS = 100
const MOST_COMPACTING = 1_000

export function createHooks(deps: HookDeps) {
  const { offBecause, forgets, follow, ended, seen, mark, unmark, clock } = deps
  /** Sessions that were compacted and not told again what they must not lose. */
  const compacting = new Set<string>()
  const mailOf = createMailGiving(deps)
  const nameOf = ({ harness, sessionId }: SessionName) => JSON.stringify([harness, sessionId])

  const compacted = (session: SessionName): void => {
    forgets(session)
    compacting.delete(nameOf(session))
  }
  const willCompact = (session: SessionName): void => {
    compacting.add(nameOf(session))
    const [oldest] = compacting
    if (compacting.size > MOST_COMPACTING && oldest !== undefined) compacting.delete(oldest)
  }

  const survivors = (session: SessionName, cwd: string, caller: Caller, noted: Noted): Part[] => [
    notesPart(deps.notesOf(session), mark),
    async (room) => noted(await deps.recallAgain({ ...session, cwd, mostBytes: room }, caller)),
  ]

  const indexOf = (harness: Harness, session: SessionName, cwd: string, caller: Caller): Part[] =>
    harness.index === 'own' ? [] : [promptPart(() => deps.memoryPrompt(cwd, caller, session), mark)]

  const partsOf = (
    harness: Harness,
    hook: Hook,
    session: SessionName,
    caller: Caller,
    noted: Noted,
  ): { parts: Part[]; mail?: Giving | undefined } => {
    const { cwd } = hook
    switch (hook.event) {
      case 'session-start':
        deps.readAhead(cwd, caller)
        if (hook.how === 'compacted') {
          compacted(session)
          return { parts: [...survivors(session, cwd, caller, noted), ...indexOf(harness, session, cwd, caller)] }
        }
        if (hook.how === 'cleared') forgets(session)
        return { parts: indexOf(harness, session, cwd, caller) }
      case 'prompt': {
        const mail = hook.bySubAgent ? undefined : mailOf(session)
        const mails = mail ? [mail.part] : []
        // Where a harness says nothing after it has compacted, the next prompt is the first chance.
        const isNew = hook.by === 'person' && compacting.has(nameOf(session))
        if (isNew) compacted(session)
        const query = hook.by === 'person' ? unmark(hook.prompt) : ''
        const recalled: Part[] =
          query.trim() === ''
            ? []
            : [async (room) => noted(await deps.recall({ ...session, cwd, query, mostBytes: room }, caller))]
        // Mail first: it is short, and somebody waits for an answer to it.
        const parts = isNew
          ? [
              ...mails,
              ...survivors(session, cwd, caller, noted),
              ...recalled,
              ...indexOf(harness, session, cwd, caller),
            ]
          : [...mails, ...recalled]
        return { parts, mail }
      }
      case 'tool-used': {
        // Mail is for the one who works, not for those it sent away.
        if (hook.bySubAgent) return { parts: [] }
        const mail = mailOf(session)
        return { parts: [mail.part], mail }
      }
      case 'before-compaction':
        willCompact(session)
        return { parts: [compactionPart(deps.notesOf(session), mark)] }
      default:
        return { parts: [] }
    }
  }

  const note = ({ event, transcriptPath }: Hook, session: SessionName): void => {
    if (event === 'session-end') ended(transcriptPath, session)
    if (transcriptPath === undefined || event !== 'turn-end') return
    follow(transcriptPath, session)
    clock.after(LAST_LINE_MS, () => follow(transcriptPath, session))
  }

  const answer = async (harness: Harness, input: Fields, caller: Caller): Promise<Said> => {
    const hook = readHook(harness, input)
    if (!hook) return undefined
    const session = { harness: harness.name, sessionId: hook.sessionId }
    if (offBecause(hook.cwd, caller) !== undefined) return undefined
    note(hook, session)
    const recalled: Recalled[] = []
    const noted: Noted = (part) => {
      recalled.push(part)
      return part.text
    }
    const { parts, mail } = partsOf(harness, hook, session, caller, noted)
    if (parts.length === 0 || harness.print(hook, input, '') === undefined) return undefined
    const undo = (which: (each: Recalled) => boolean) => {
      for (const each of recalled) if (which(each)) each.undo?.()
    }
    const lost = (which: (each: Recalled) => boolean) => {
      undo(which)
      mail?.onLost()
    }
    try {
      const told = await fitted(parts, harness.capUnits)
      const printed = told === '' ? undefined : harness.print(hook, input, told)
      if (printed === undefined) {
        lost(() => true)
        return undefined
      }
      // What turned out too long was left out.
      undo(({ text }) => !told.includes(text))
      return {
        text: printed,
        ...(mail && { onSent: mail.onSent }),
        onLost: () => lost(({ text }) => told.includes(text)),
      }
    } catch (error) {
      lost(() => true)
      throw error
    }
  }

  return {
    answer: async (name: string, input: Fields, caller: Caller): Promise<Said> => {
      const harness = harnesses.find((each) => each.name === name)
      if (!harness)
        throw new MemoryError('NOT_FOUND', `no harness is called ${name}`, {
          hint: `one of: ${harnesses.map((each) => each.name).join(', ')}`,
        })
      seen(name)
      return new Promise((resolve, reject) => {
        let isLate = false
        const timer = clock.after(deps.deadlineMs() + GRACE_MS, () => {
          isLate = true
          resolve(undefined)
        })
        void answer(harness, input, caller)
          .catch(silentIfRefused)
          .then((said) => {
            if (isLate) said?.onLost?.()
            resolve(said)
          }, reject)
          .finally(() => timer.stop())
      })
    },
  }
}

/** Where a caller's own variables make no sense there is no memory, and a hook is no place to say so. */
function silentIfRefused(error: unknown): undefined {
  if (!(error instanceof MemoryError) || error.code !== 'REFUSED') throw error
}

/** Hooks, put together: what is told to sessions, what is read when they say that something happened, and who was seen. */

type Deps = Pick<HookDeps, 'notesOf' | 'mailFor' | 'acknowledge'> & {
  recall: Recall
  store: Databases
  stateDir: string
  settings: LiveSettings
  clock: Clock
  memory: Memory
  reader: TranscriptReader
  background: Pick<Background, 'enqueue'>
  /** Whether anything of a session was read. */
  isKnown: (session: SessionName) => boolean
  forgetsGiven: (session: SessionName) => void
  onError: (error: unknown) => void
}

/** What is made of a session when it is over. */
const AT_THE_END = ['extract', 'notes'] as const

export function createHooking(deps: Deps) {
  const { store, stateDir, settings, clock, memory, reader, background, isKnown, onError } = deps
  const lastSeen = createLastSeen({ rows: createHooksSeen(store.history), clock, onError })

  /** A path that is no transcript is no trouble of anybody's: sub-agents are told of that never wrote one. */
  const read = (path: string): Promise<void> => reader.readWritten(path).catch(() => {})

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
    recall: async (asked, by) => recalledOf(await deps.recall.hook(asked, by)),
    recallAgain: async (session, by) => recalledOf(await deps.recall.again(session, by)),
    readAhead: deps.recall.readAhead,
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

function recalledOf(answer: RecallAnswer): Recalled {
  return { text: answer.text, undo: undoOf(answer) }
}
