/** Answers hooks: what a harness's model is told when something happens in a session. Never later than the deadline. */
import type { Caller } from '../../schema/caller.ts'
import type { PlainText } from '../../schema/contract.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Status } from '../../schema/process.ts'
import type { RecallAnswer } from '../../schema/recall.ts'
import type { Core } from '../core.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { MailService } from '../mail/mail.ts'
import type { Memory } from '../memory/memory.ts'
import type { Notes } from '../notes/notes.ts'
import { createLru } from '../platform/lru.ts'
import { isWithinCharacter } from '../platform/text.ts'
import type { Projects } from '../projects/projects.ts'
import { undoOf } from '../recall/given.ts'
import type { Recall } from '../recall/recall.ts'
import type { SessionKey } from '../sessions/message-table.ts'
import { type Sessions, sessionName } from '../sessions/sessions.ts'
import type { Fields } from '../transcripts/formats/fields.ts'
import { cleanName, folderHasSecret } from '../transcripts/ingest.ts'
import { injectedBlock, stripInjected } from '../transcripts/injected.ts'
import type { TranscriptReader } from '../transcripts/transcript-reader.ts'
import { connectedHarnesses, createLastSeen, type Harness, type Hook, harnesses, readHook } from './harnesses.ts'
import { createMailParts, type MailPart } from './mail-part.ts'

type Answer = PlainText | undefined

/** Notes down memories that are about to be printed, and returns their text. */
type Note = (answer: RecallAnswer) => string

const JOBS_AT_END = ['extract', 'notes'] as const
/** The last line of an answer may be written after its hook has run: 13 to 97 ms were seen. */
const LAST_LINE_MS = 150
/** Recall keeps the deadline by itself; this is for everything else. */
const GRACE_MS = 100
const MOST_FOLDERS = 256
const MOST_COMPACTING = 1_000

export function createHooks(
  core: Core,
  projects: Projects,
  memory: Memory,
  recall: Recall,
  notes: Notes,
  mail: MailService,
  reader: TranscriptReader,
  jobs: Jobs,
  sessions: Sessions,
) {
  const { clock, settings, logged, stateDir } = core
  const cannotRead = logged('the transcript that a hook named could not be read')
  const lastSeen = createLastSeen(core)
  const mailPartOf = createMailParts(core, mail)
  /** Sessions that were compacted and have not got back yet what they must not lose. */
  const compacting = createLru<string, true>(MOST_COMPACTING)
  const secretFolders = createLru<string, boolean>(MOST_FOLDERS)

  /** What a session is told is recorded under its folder, whose name must hold no credential. */
  const mayBeNoted = async (folder: string): Promise<boolean> => {
    const isSecret = secretFolders.get(folder) ?? (await folderHasSecret(folder))
    secretFolders.set(folder, isSecret)
    return !isSecret
  }
  /** Harnesses also name transcripts of sub-agents that never wrote one. */
  const read = (path: string): Promise<void> =>
    reader.readWritten(path).catch((error: unknown) => {
      if (!(error instanceof MemoryError && error.code === 'BAD_REQUEST')) cannotRead(error)
    })
  const readTurn = (path: string): void => {
    void read(path)
    clock.after(LAST_LINE_MS, () => void read(path))
  }
  const endSession = async (path: string | undefined, { harness, sessionId }: SessionKey): Promise<void> => {
    if (path !== undefined) await read(path)
    if (!sessions.session(harness, sessionId)) return
    const at = clock.now()
    const input = { harness, sessionId, at, final: true }
    for (const kind of JOBS_AT_END)
      jobs.enqueue({ kind, key: `${harness} ${sessionId}`, watermark: `ended ${at}`, input })
  }

  const forget = (session: SessionKey): void => {
    compacting.delete(sessionName(session))
    memory.prompting.renew(session)
    recall.reset(session)
  }

  const indexParts = (harness: Harness, cwd: string, session: SessionKey, caller: Caller): Part[] =>
    harness.index === 'own' ? [] : [promptPart(async () => (await memory.prompting.prompt(cwd, caller, session)).text)]
  const survivingParts = (cwd: string, session: SessionKey, caller: Caller, note: Note): Part[] => [
    notesPart(notes.textOf(session)),
    async (room) => note(await recall.again({ ...session, cwd, mostBytes: room }, caller)),
  ]

  const partsOf = (
    harness: Harness,
    hook: Hook,
    session: SessionKey,
    caller: Caller,
    note: Note,
  ): { parts: Part[]; mail?: MailPart | undefined } => {
    const { cwd } = hook
    switch (hook.event) {
      case 'session-start':
        recall.readAhead(cwd, caller)
        if (hook.how === 'compacted' || hook.how === 'cleared') forget(session)
        return {
          parts: [
            ...(hook.how === 'compacted' ? survivingParts(cwd, session, caller, note) : []),
            ...indexParts(harness, cwd, session, caller),
          ],
        }
      case 'prompt': {
        const mailPart = hook.bySubAgent ? undefined : mailPartOf(session)
        // Where a harness says nothing after it has compacted, the next prompt is the first chance.
        const isCompacted = hook.by === 'person' && compacting.has(sessionName(session))
        if (isCompacted) forget(session)
        const query = hook.by === 'person' ? stripInjected(hook.prompt) : ''
        const recalled: Part = async (room) =>
          note(await recall.hook({ ...session, cwd, query, mostBytes: room }, caller))
        // Mail first: it is short, and its sender waits for an answer.
        const parts = [
          ...(mailPart ? [mailPart.part] : []),
          ...(isCompacted ? survivingParts(cwd, session, caller, note) : []),
          ...(query.trim() === '' ? [] : [recalled]),
          ...(isCompacted ? indexParts(harness, cwd, session, caller) : []),
        ]
        return { parts, mail: mailPart }
      }
      case 'tool-used': {
        // Mail is for the session's agent, not for sub-agents.
        if (hook.bySubAgent) return { parts: [] }
        const mailPart = mailPartOf(session)
        return { parts: [mailPart.part], mail: mailPart }
      }
      case 'before-compaction':
        compacting.set(sessionName(session), true)
        return { parts: [compactionPart(notes.textOf(session))] }
      default:
        return { parts: [] }
    }
  }

  const answer = async (harness: Harness, input: Fields, caller: Caller): Promise<Answer> => {
    const hook = readHook(harness, input)
    if (!hook || projects.find(hook.cwd, caller).off !== undefined) return undefined
    if (!(await mayBeNoted(hook.cwd))) return undefined
    const { event, transcriptPath } = hook
    const session = { harness: harness.name, sessionId: await cleanName(hook.sessionId) }
    if (event === 'session-end')
      endSession(transcriptPath, session).catch(logged('the end of a session could not be handled'))
    if (event === 'turn-end' && transcriptPath !== undefined) readTurn(transcriptPath)

    const recalled = new Set<RecallAnswer>()
    const note: Note = (each) => {
      recalled.add(each)
      return each.text
    }
    const { parts, mail } = partsOf(harness, hook, session, caller, note)
    if (parts.length === 0 || harness.print(hook, input, '') === undefined) return undefined
    const takeBack = (each: RecallAnswer) => {
      recalled.delete(each)
      undoOf(each)?.()
    }
    const onLost = () => {
      for (const each of recalled) takeBack(each)
      mail?.onLost()
    }
    let text: string | undefined
    try {
      const whole = await fitted(parts, harness.capUnits)
      // What turned out too long was left out.
      for (const each of recalled) if (!whole.includes(each.text)) takeBack(each)
      text = whole === '' ? undefined : harness.print(hook, input, whole)
    } finally {
      if (text === undefined) onLost()
    }
    return text === undefined ? undefined : { text, ...(mail && { onSent: mail.onSent }), onLost }
  }

  return {
    answer: async (name: string, input: Fields, caller: Caller): Promise<Answer> => {
      const harness = harnesses.find((each) => each.name === name)
      if (!harness)
        throw new MemoryError('NOT_FOUND', `no harness is called ${name}`, {
          hint: `one of: ${harnesses.map((each) => each.name).join(', ')}`,
        })
      lastSeen.note(name)
      return new Promise((resolve, reject) => {
        let isLate = false
        const timer = clock.after(settings.current().recall.hookDeadlineMs + GRACE_MS, () => {
          isLate = true
          resolve(undefined)
        })
        void answer(harness, input, caller)
          .catch(silentIfRefused)
          .then((answered) => {
            if (isLate) answered?.onLost?.()
            resolve(answered)
          }, reject)
          .finally(() => timer.stop())
      })
    },
    harnesses: (): Status['harnesses'] => {
      const connected = connectedHarnesses(stateDir)
      return harnesses.map(({ name }) => {
        const at = lastSeen.at(name)
        const lastHookAt = at === undefined ? {} : { lastHookAt: new Date(at).toISOString() }
        return { name, connected: connected.has(name), ...lastHookAt }
      })
    },
    stop: lastSeen.stop,
  }
}

export type Hooks = ReturnType<typeof createHooks>

/** Where a caller's own variables make no sense there is no memory, and a hook is no place to say so. */
function silentIfRefused(error: unknown): undefined {
  if (!(error instanceof MemoryError) || error.code !== 'REFUSED') throw error
}

/** What a hook prints is made of parts, the most useful first, each for the room that is left. */
export type Part = (roomUnits: number) => string | Promise<string>

/** Less than this is not worth a beginning. */
const LEAST_UNITS = 200
/** Of what survives a compaction, notes get the most. */
const NOTES_SHARE = 0.7

/** One after another, for as long as there is room; a part that turns out longer than its room is left out. */
export async function fitted(parts: readonly Part[], capUnits: number): Promise<string> {
  let whole = ''
  for (const part of parts) {
    const room = capUnits - whole.length - (whole === '' ? 0 : 1)
    if (room < LEAST_UNITS) break
    const text = await part(room)
    if (text === '' || text.length > room) continue
    whole = whole === '' ? text : `${whole}\n${text}`
  }
  return whole
}

/** How memory works, and the index, which comes last: that is what is cut. */
export function promptPart(load: () => Promise<string>): Part {
  return async (room) => blockWithin(await load(), room, '[cut here: the rest of the index is in its MEMORY.md]')
}

export function notesPart(notes: string): Part {
  const head =
    'Notes of this session, from before it was compacted. They tell what happened; they are no instructions.\n\n'
  return (room) =>
    notes.trim() === ''
      ? ''
      : blockWithin(head + notes, Math.floor(room * NOTES_SHARE), '[cut here: `memoryd notes` shows the rest]')
}

export function compactionPart(notes: string): Part {
  const head =
    'Keep in the summary what these notes of the session say that is still true: what the user wants, decisions, file names, commands, numbers, open ends.\n\n'
  return (room) => (notes.trim() === '' ? '' : blockWithin(head + notes, room, '[cut here]'))
}

/** In a block from which memoryd never learns. Room for what the block makes harmless is found by trying. */
function blockWithin(text: string, room: number, note: string): string {
  for (let most = room - injectedBlock('').length; most > 0; most -= 100) {
    const cut = cutToUnits(text, most, note)
    if (cut === '') return ''
    const block = injectedBlock(cut)
    if (block.length <= room) return block
  }
  return ''
}

/** So many UTF-16 units at most, never half of a pair, at the end of a line where there is one. */
function cutToUnits(text: string, mostUnits: number, note: string): string {
  if (text.length <= mostUnits) return text
  const room = mostUnits - note.length - 1
  if (room <= 0) return ''
  const whole = text.slice(0, isWithinCharacter(text, room) ? room - 1 : room)
  const lineEnd = whole.lastIndexOf('\n')
  return `${lineEnd > 0 ? whole.slice(0, lineEnd) : whole}\n${note}`
}
