/**
 * The context service, put together: what it counts by, where it keeps long results, whom it asks for a summary and what
 * that is told. Loaded with the first question.
 */
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import type { Environment } from '../../schema/rendezvous.ts'
import type { Agent } from '../agent/agent.ts'
import { type Prefix, renderedPrefix } from '../agent/prefix.ts'
import { cleanParts, readMessages, renderMessage, sessionName } from '../agent/rendering.ts'
import type { Databases } from '../db/databases.ts'
import type { Model } from '../models/model.ts'
import { factsOf } from '../models/models.ts'
import type { Clock } from '../platform/clock.ts'
import { runCommand } from '../platform/process.ts'
import { mergeVariables } from '../projects/memory-dir.ts'
import { privateFolder } from '../projects/paths.ts'
import type { Said } from '../sessions/message-table.ts'
import type { LiveSettings } from '../settings/live-settings.ts'
import { withPrivateHidden } from '../transcripts/injected.ts'
import type { Conversation } from './compact.ts'
import { createCompactions } from './compaction-guards.ts'
import { createContext } from './context.ts'
import type { Notes } from './cuts.ts'
import type { Message } from './messages.ts'
import { type Answered, type Question, toldOf } from './summariser.ts'
import { modelName } from './token-count.ts'
import { createResultStore, createToolResults, type SessionKey } from './tool-results.ts'
import { messagesOfTranscript } from './transcript.ts'
import { createRestore } from './working-set.ts'

type Deps = {
  store: Databases
  said: Said
  stateDir: string
  settings: LiveSettings
  env: Environment
  model: Model
  agent: Agent
  clock: Clock
  redact: (text: string) => Promise<{ text: string }>
  rootOf: (cwd: string) => string
  /** The notes of a session, and how far they go. */
  notesOf: (session: SessionKey) => Notes | undefined
  /** What a session was shown may be shown again. */
  onMemoriesCleared: (session: SessionKey) => void
  onCompacted: (session: SessionKey) => void
  onError: (error: unknown) => void
}

const LAST = Number.MAX_SAFE_INTEGER
/** Records that are no messages stand between two messages, never many. */
const LOOK_BACK = 50
const SUMMARY_TOKENS = 20_000
const SUMMARY_MS = 300_000
/** No files of anybody's: what is read there is this process, or the machine. */
const MACHINE = ['/proc', '/sys', '/dev']
const COMMAND = { timeoutMs: 10_000, maxBytes: 20_000 }

export function createFitting(deps: Deps) {
  const { store, said, stateDir, settings, env, model, agent, clock, rootOf, notesOf } = deps
  const redact = async (text: string) => (await deps.redact(text)).text
  const compactions = createCompactions(store.history)
  const isPrivate = (folder: string) =>
    privateFolder(settings.current().private, [folder, rootOf(folder)]) !== undefined

  const sessionOf = ({ harness, session }: SessionKey) => {
    const found = said.session(harness, session)
    return found && !(found.cwd !== null && isPrivate(found.cwd)) ? found : undefined
  }

  const notes = (key: SessionKey) => {
    const found = settings.current().notes.enabled ? notesOf(key) : undefined
    return found && { ...found, before: () => before(key, found.lastMessageId) }
  }
  const before = (key: SessionKey, uid: string): string[] => {
    const session = sessionOf(key)
    const rows = session ? said.from(session.row, undefined, LAST) : []
    const at = rows.findIndex((row) => row.uid === uid)
    return rows
      .slice(Math.max(0, at - LOOK_BACK), Math.max(0, at))
      .map((row) => row.uid)
      .reverse()
  }

  const transcript = async (key: SessionKey, signal: AbortSignal) => {
    const found = sessionOf(key)
    if (!found) return undefined
    return messagesOfTranscript(await readMessages(said, { row: found.row, from: undefined, upTo: LAST, signal }))
  }

  /** What the jobs of the session share, where that is all of what is to be summarised. */
  const sharedPrefix = async (
    { key, source }: Conversation,
    messages: readonly Message[],
    signal: AbortSignal,
  ): Promise<Prefix | undefined> => {
    const found = sessionOf(key)
    const rows = found ? said.from(found.row, undefined, LAST) : []
    const last = rows.at(-1)
    if (!found || !last) return undefined
    const lastSaid = messages.findLast(({ role, id }) => role === 'assistant' && id !== undefined)?.id
    if (source === 'given' && !rows.some(({ uid }) => uid === lastSaid)) return undefined
    const name = settings.current().model.compact
    const told = await agent.sessionPrefix({
      key: sessionOfKey(key),
      ...{ row: found.row, upTo: last.id, lastAt: last.at ?? 0, model: name, signal },
      notes: () => notes(key)?.text ?? '',
    })
    if (told.prefix.kind === 'harness' || (notes(key)?.text ?? '') !== '') return told.prefix
    // Something was left out of what jobs are told, and nothing stands for it.
    const first = rows.find(({ by }) => by === 'person')?.uid
    return first === undefined || [...told.names.values()].includes(first) ? told.prefix : undefined
  }

  /** All of it, told in the same words, for whoever keeps no transcript. */
  const ownPrefix = async ({ key }: Conversation, { messages, shortened }: Question): Promise<Prefix> => {
    const own = { harness: key.harness, sessionId: `${key.session} (context)` }
    if (shortened) agent.announceBreak(own, 'less is told')
    const rendered = []
    for (const [n, message] of toldOf(messages).entries()) {
      rendered.push(renderMessage(n + 1, message, await cleanParts(message)))
      if (n % 20 === 19) await turn()
    }
    const name = settings.current().model.compact
    return renderedPrefix(
      { key: sessionName(own), model: name, keep: '5m' },
      { head: '<transcript>\n', messages: rendered, tokens: 0 },
    )
  }

  const ask = async (conversation: Conversation, question: Question): Promise<Answered> => {
    const { task, signal, messages, shortened } = question
    const shared = shortened ? undefined : await sharedPrefix(conversation, messages, signal)
    const {
      ended,
      why = 'it was given up',
      failure,
      text,
    } = await agent.run({
      job: 'compaction',
      project: rootOf(conversation.cwd),
      prefix: shared ?? (await ownPrefix(conversation, question)),
      directive: task,
      policy: { may: 'nothing' },
      reach: agent.reachOf(stateDir, []),
      limits: { turns: 3, outputTokens: 2 * SUMMARY_TOKENS, wallMs: SUMMARY_MS },
      maxTokens: SUMMARY_TOKENS,
      atTurnLimit: 'fail',
      check: async () => 'a summary changes nothing',
      cite: () => ({ evidence: [] }),
      apply: async () => {},
      stillOurs: () => true,
      signal,
    })
    if (ended === 'done' || ended === 'truncated') return { text }
    if (ended === 'aborted') return { failed: 'stopped', message: why }
    if (!failure) return { text, cut: true }
    return {
      failed: failure.failed === 'offline' || failure.failed === 'budget' ? 'none' : 'other',
      message: failure.message,
    }
  }

  const announce = async (key: SessionKey, because: string) => {
    // Without a model nobody expects anything of a cache.
    if (model.mode() === 'online') agent.announceBreak(sessionOfKey(key), because)
  }

  return createContext({
    clock,
    settings: () => settings.current().context,
    variables: (caller) => mergeVariables(env, caller.env),
    windowTokens: (name) => factsOf(modelName(name), settings.current().models).windowTokens,
    results: createResultStore({
      dir: join(stateDir, 'tool-results'),
      table: createToolResults(store.history),
      redact: (text) => redact(withPrivateHidden(text)),
      limits: () => {
        const { enabled, toolResultChars, toolResultCharsOf, toolResultCharsPerMessage } = settings.current().context
        return {
          enabled,
          chars: toolResultChars,
          charsOf: toolResultCharsOf,
          charsPerMessage: toolResultCharsPerMessage,
        }
      },
      clock,
    }),
    guarded: {
      find: compactions.find,
      put: (session, state) => compactions.put(session, state, clock.now()),
    },
    transcript,
    announce,
    onMemoriesCleared: deps.onMemoriesCleared,
    notes,
    isOnline: ({ cwd }) => model.waits() === undefined && !isPrivate(cwd),
    ask,
    restore: createRestore({
      isClosed: (path) => {
        const { roots, private: closed, model: own } = settings.current()
        const ours = [stateDir, ...Object.values(roots).flat(), ...(own.apiKeyFile === null ? [] : [own.apiKeyFile])]
        return privateFolder([...MACHINE, ...ours, ...closed], [path]) !== undefined
      },
    }),
    preCompact: async (signal) => {
      const command = settings.current().context.preCompact
      if (command === null) return ''
      const ran = await runCommand(command, { clock, signal, ...COMMAND })
      return 'output' in ran ? ran.output : ''
    },
    onCompacted: async (key) => {
      deps.onCompacted(key)
      await announce(key, 'the session was compacted')
    },
    onError: deps.onError,
  })
}

function sessionOfKey({ harness, session }: SessionKey) {
  return { harness, sessionId: session }
}

export type Fitting = ReturnType<typeof createFitting>
