/** Notes of a session, by a model or by rules. After a kill, the notes and what they cover are both old or both new. */
import { MemoryError } from '../../schema/errors.ts'
import type { SessionNotes } from '../../schema/session.ts'
import { type Agent, type SessionPrefix, whyNotDone } from '../agent/agent.ts'
import type { Core } from '../core.ts'
import { type JobKind, LOST, type Outcome, skipped } from '../jobs/job.ts'
import type { Models } from '../models/models.ts'
import { message } from '../platform/files.ts'
import { hashOf } from '../platform/safe-folder.ts'
import { copied, padded, textTokens, tokensIn } from '../platform/text.ts'
import type { Projects } from '../projects/projects.ts'
import { redact } from '../secrets/redact.ts'
import { type MessageRow, type MessageTable, readMessages, type SessionKey } from '../sessions/message-table.ts'
import { sessionName } from '../sessions/sessions.ts'
import type { Settings } from '../settings/settings.ts'
import { notesDirective } from './notes-directive.ts'
import { type Coverage, createNotesFile, NOTES_FILE } from './notes-file.ts'
import { cappedNotes, keptNotes } from './notes-guard.ts'
import { addGathered, createGathering, type Spoken } from './notes-rules.ts'
import { blankNotes, readCustom } from './template.ts'

type Input = SessionKey & { final?: true }

/** After so long the person has left, and rules are enough. */
const STANDS_STILL_MS = 3_600_000
/** After so many attempts rules do what the model failed to do. */
const MOST_ATTEMPTS = 3
const LIMITS = { turns: 5, outputTokens: 32_000, wallMs: 120_000 }
const MAX_TOKENS = 16_000
/** Of longer text the ends are used, without the margin at the cut: half a credential is not recognised. */
const WHOLE_CHARS = 24_000
const EDGE_CHARS = 12_000
const MARGIN_CHARS = 4_000

export function createNotes(core: Core, projects: Projects, sessions: MessageTable, agent: Agent, models: Models) {
  const { clock, health, settings, disk } = core
  const { turn } = core.givingWay
  const file = createNotesFile(core)
  const claudeDir = projects.configDir()
  const running = new Map<string, number>()

  const newIn = (key: SessionKey) => {
    const session = sessions.session(key.harness, key.sessionId)
    const covers = file.read(key)?.covers
    const reached = covers && { message: covers.message, at: covers.saidAt }
    return { session, pages: session ? sessions.talkAfter(session.row, reached) : [] }
  }

  const run: JobKind['run'] = async ({ input, attempts }, { signal, ownsLease }) => {
    const { final, ...key } = input as Input
    // 1. What is new, up to the last turn that has ended, and whether it may be noted.
    const { session, pages } = newIn(key)
    let outcome: Outcome | undefined
    for (const { part, more } of pages) {
      await turn()
      const kept = file.read(key)
      const last = part.at(-1)
      if (!session || !last) continue
      const { cwd, row, interactive } = session
      if (cwd === null) return skipped('the session names no folder')
      const { root, off } = projects.find(cwd, { actor: 'agent:notes', env: {} })
      if (off !== undefined) return skipped(`memory is off there: ${off}`)

      // 2. Whether it is enough. Notes of a session that is over are completed in any case.
      const { now: tokens, least } = await weigh(part, kept?.covers?.tokens, signal)
      const since = kept?.covers && { tokens: least, toolCalls: sumCalls(part) }
      const verdict = dueNow({ tokens, since, lastTurnToolCalls: sumCalls(lastTurnOf(part)) }, settings.current().notes)
      if ('skip' in verdict && !more && !outcome && !(final && since)) return skipped(verdict.skip)

      const { template, prompt, problems } = readCustom(claudeDir)
      if (problems.length === 0) health.clear('notes')
      else health.raise('notes', `${problems.join('; ')}: correct it, or move it away`)
      let notes = kept?.text ? kept.text : blankNotes(template)
      let onDisk = kept?.text
      const covers = (upTo: readonly MessageRow[], source: Coverage['source'], at = tokens): Coverage => ({
        message: upTo.at(-1)?.uid ?? last.uid,
        saidAt: lastTimeIn(upTo, kept?.covers?.saidAt),
        tokens: at,
        source,
        at: clock.now(),
      })
      /** Never over what a person wrote or a purge removed meanwhile. */
      const put = (text: string, what: Coverage | undefined): boolean => {
        if (!ownsLease() || file.read(key)?.text !== onDisk) return false
        file.write(key, text, what)
        onDisk = text
        notes = text
        return true
      }
      const clean = async (text: string) => (await redact(keptNotes(template, text))).text
      const putByRules = async (some: readonly MessageRow[], at?: number) => {
        const gathering = createGathering(cwd)
        for await (const spoken of redactedMessages(some, signal)) {
          gathering.hear(spoken)
          // Redacting one message may take as long as a whole answer.
          await turn()
        }
        const text = await clean(addGathered(template, notes, gathering.gathered, cwd))
        return put(text, covers(some, 'rules', at))
      }
      const doneBy = (source: Coverage['source']): Outcome => ({ done: { by: source, tokens } })

      const name = sessionName(key)
      running.set(name, clock.now())
      try {
        // 3. By a model, which sees the file as it is; rules add first what it cannot be told.
        let rest: readonly MessageRow[] = part
        const lastAt = lastTimeIn(part)
        const mayAsk = !models.waits() && interactive !== 0 && clock.now() - lastAt <= STANDS_STILL_MS
        if (!more && mayAsk && attempts <= MOST_ATTEMPTS) {
          const model = settings.current().model.notes
          const standIn = () => notesFor(key).content
          const told = await agent.sessionPrefix({ key, row, upTo: last.id, lastAt, model, signal, notes: standIn })
          const untold = untoldOf(told, part)
          rest = part.slice(untold.length)
          if (untold.length > 0) {
            if (!(await putByRules(untold, Math.min(least, tokens)))) return LOST
          } else if (kept?.text !== notes && !put(notes, kept?.covers)) return LOST
          if (rest.length === 0) return doneBy('rules')
          const news = new Set(rest.map(({ uid }) => uid))
          const hasEarlier = untold.length > 0 || kept?.covers !== undefined
          const firstNew = hasEarlier ? [...told.names].find(([, id]) => news.has(id))?.[0] : undefined
          const asked = { template, notes, file: NOTES_FILE, sessionId: key.sessionId, firstNew, prompt }
          const report = await agent.run({
            job: 'notes',
            project: root,
            prefix: told.prefix,
            directive: notesDirective(asked),
            policy: { may: 'notes', file: NOTES_FILE },
            reach: agent.reachOf(file.folderOf(key), []),
            limits: LIMITS,
            maxTokens: MAX_TOKENS,
            atTurnLimit: 'fail',
            until: 'changed',
            shown: [{ file: NOTES_FILE, hash: hashOf(notes) }],
            apply: async (drafts) => {
              const draft = drafts.find((each) => each.file === NOTES_FILE)
              if (!put(await clean(draft?.content ?? ''), covers(rest, 'model')))
                throw new MemoryError('CONFLICT', 'the notes were changed meanwhile')
            },
            ownsLease,
            signal,
          })
          const notDone = whyNotDone(report)
          if (!notDone) {
            const isSeen = report.files.length > 0 || put(notes, covers(rest, kept?.covers?.source ?? 'model'))
            return isSeen ? doneBy('model') : LOST
          }
          signal.throwIfAborted()
          if ('failed' in notDone && attempts < MOST_ATTEMPTS) return notDone
        }

        // 4. By rules.
        if (!(await putByRules(rest))) return LOST
        outcome = doneBy('rules')
      } finally {
        running.delete(name)
      }
    }
    return outcome ?? skipped('there is nothing new in it')
  }

  const job: JobKind = {
    name: 'notes',
    setting: 'notes',
    model: 'optional',
    alreadyDone: ({ input }) => {
      const [first] = newIn(input as Input).pages
      return !first?.more && !first?.part.length
    },
    run: (claimed, context) =>
      run(claimed, context).catch((error) => {
        if (disk.blames(error)) return { postponed: message(error) }
        throw error
      }),
  }

  const notesFor = (key: SessionKey) => {
    const { text = '', covers } = file.read(key) ?? {}
    const { template } = readCustom(claudeDir)
    const capped = covers && text.trim() !== '' ? cappedNotes(template, text) : ''
    const content = capped === blankNotes(template) ? '' : capped
    return { content, covers, runningSinceMs: running.get(sessionName(key)) }
  }

  return {
    job,
    file,
    notesFor,
    textOf: (key: SessionKey): string => notesFor(key).content,
    answer: (key: SessionKey): SessionNotes => {
      const { content, covers, runningSinceMs } = notesFor(key)
      const stamp = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString())
      return {
        content,
        tokens: tokensIn(content),
        lastMessageId: covers?.message,
        updatedAt: stamp(covers?.at),
        source: covers?.source,
        updatingSince: stamp(runningSinceMs),
      }
    },
  }
}

export type Notes = ReturnType<typeof createNotes>

function lastTimeIn(messages: readonly MessageRow[], before = 0): number {
  return messages.reduce((latest, { at }) => Math.max(latest, at ?? 0), before)
}

function sumCalls(messages: readonly MessageRow[]): number {
  return messages.reduce((sum, { toolCalls }) => sum + toolCalls, 0)
}

function lastTurnOf(part: readonly MessageRow[]): readonly MessageRow[] {
  const start = part.findLastIndex(({ startsTurn, by }) => startsTurn === 1 && by !== 'injected')
  return start < 0 ? part : part.slice(start)
}

async function weigh(part: readonly MessageRow[], before: number | undefined, signal: AbortSignal) {
  let estimate = 0
  const later = part.slice(part.length - sinceUsage(part)).filter(isConversation)
  for await (const [, { text, toolCalls, toolResults }] of readMessages(later, signal)) {
    const blocks = [text, ...toolCalls.map(({ input }) => input), ...toolResults.map((result) => result.text)]
    for (const block of blocks) estimate += textTokens(block)
  }
  return contextTokens(part, estimate, before)
}

function isConversation({ by }: MessageRow): boolean {
  return by === 'person' || by === 'agent' || by === 'tool'
}

/** What the model is not told: older than its transcript, or said in the session this one was forked from. */
function untoldOf({ prefix, names }: SessionPrefix, part: readonly MessageRow[]): readonly MessageRow[] {
  if (prefix.kind === 'harness') return []
  const told = new Set(names.values())
  const first = part.findIndex(({ uid }) => told.has(uid))
  const before = first < 0 ? part : part.slice(0, first)
  return before.some(isConversation) ? before : []
}

export async function* redactedMessages(part: readonly MessageRow[], signal: AbortSignal): AsyncGenerator<Spoken> {
  for await (const [{ uid, at, startsTurn }, line] of readMessages(part.filter(isConversation), signal)) {
    const toolCalls: typeof line.toolCalls = []
    for (const call of line.toolCalls) toolCalls.push({ ...call, input: await redacted(call.input) })
    const toolResults: typeof line.toolResults = []
    for (const result of line.toolResults) toolResults.push({ ...result, text: await redacted(result.text) })
    yield { uid, at, startsTurn, by: line.by, text: await redacted(line.text), toolCalls, toolResults }
  }
}

async function redacted(text: string): Promise<string> {
  if (text === '') return ''
  if (text.length <= WHOLE_CHARS) return (await redact(text)).text
  const head = (await redact(copied(text.slice(0, EDGE_CHARS)))).text
  const tail = (await redact(copied(text.slice(-EDGE_CHARS)))).text
  return `${head.slice(0, -MARGIN_CHARS)}\n[…]\n${tail.slice(MARGIN_CHARS)}`
}

/** `since`: growth since the last update; undefined if there are no notes. */
type Course = { tokens: number; since: { tokens: number; toolCalls: number } | undefined; lastTurnToolCalls: number }

export function dueNow(
  { tokens, since, lastTurnToolCalls }: Course,
  at: Pick<Settings['notes'], 'initTokens' | 'updateTokens' | 'toolCalls'>,
): { due: 'first' | 'again' } | { skip: string } {
  if (!since) return tokens >= at.initTokens ? { due: 'first' } : { skip: 'there is too little in it yet' }
  if (tokens - since.tokens < at.updateTokens) return { skip: 'too little was said since' }
  const isPause = lastTurnToolCalls === 0
  return since.toolCalls >= at.toolCalls || isPause ? { due: 'again' } : { skip: 'the agent is in the middle of it' }
}

type Weighed = { tokens: number | null }

/** How many messages came after the last one with usage. */
export function sinceUsage(messages: readonly Weighed[]): number {
  return messages.length - 1 - messages.findLastIndex(({ tokens }) => tokens !== null && tokens > 0)
}

/** Growth counts from the smallest context since `before`: a harness that compacts starts small again. */
export function contextTokens(messages: readonly Weighed[], later: number, before: number | undefined) {
  const used = messages.flatMap(({ tokens }) => (tokens !== null && tokens > 0 ? [tokens] : []))
  const last = used.at(-1)
  return {
    now: last === undefined ? (before ?? 0) + padded(later) : last + later,
    least: used.reduce((least, tokens) => Math.min(least, tokens), before ?? Number.POSITIVE_INFINITY),
  }
}
