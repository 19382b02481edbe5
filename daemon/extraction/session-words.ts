/** What persons said in a part of a session, read back from its transcript, and what the agent did meanwhile. */
import { realpathSync } from 'node:fs'
import { dirname, resolve, sep } from 'node:path'
import { BYTES_PER_TOKEN, copied, headOf, stampAt, tailOf } from '../platform/text.ts'
import { meantIn, type Said, type SaidMessage } from '../sessions/message-table.ts'
import { handfuls, openReadBack } from '../transcripts/read-back.ts'

/** A message as its line tells it. */
export type Spoken = { by: string; text: string; toolCalls: readonly Call[]; id?: string; minutesEast?: number }

export type Word = {
  message: SaidMessage
  text: string
  previousAssistant: string | undefined
  /** Where it was said, if that is told. */
  minutesEast: number | undefined
}

type Deps = {
  said: Pick<Said, 'agentBefore'>
  messagesAt: (harness: string, line: string) => Spoken[]
  redact: (text: string) => Promise<{ text: string }>
}

/** As much as a model is told of a person's message: what is longer was pasted, and its beginning tells what for. */
const LONGEST_CHARS = 76_000
/** More of an answer than anybody looks at who reads what is replied to it. */
const ANSWER_CHARS = 12_000
/** Not kept where a text was cut: half a credential is not recognised. */
const MARGIN_CHARS = 4_000

export function createReading({ said, messagesAt, redact }: Deps) {
  const beginningOf = async (text: string): Promise<string> => {
    if (text.length <= LONGEST_CHARS) return (await redact(text)).text
    return (await redact(copied(headOf(text, LONGEST_CHARS)))).text.slice(0, -MARGIN_CHARS)
  }
  const endOf = async (text: string): Promise<string> => {
    if (text.length <= ANSWER_CHARS) return (await redact(text)).text
    return (await redact(copied(tailOf(text, ANSWER_CHARS)))).text.slice(MARGIN_CHARS)
  }
  const open = () => openReadBack((harness, line) => messagesAt(harness, line))
  type Open = ReturnType<typeof open>

  const one = async (lines: Open, message: SaidMessage): Promise<Spoken | undefined> =>
    meantIn((await lines.read([message]))[0], message)

  /** The end of the answer that a person replies to. */
  const answerBefore = async (lines: Open, row: number, message: SaidMessage): Promise<string | undefined> => {
    for (const before of said.agentBefore(row, message.id)) {
      const spoken = await one(lines, before)
      if (spoken && spoken.text !== '') return endOf(spoken.text)
    }
    return undefined
  }

  return {
    /** Free of credentials, and one after the other: a day of them need not be held at once. */
    words: async function* (row: number, part: readonly SaidMessage[], signal: AbortSignal): AsyncGenerator<Word> {
      const lines = open()
      try {
        for (const message of part.filter(({ by }) => by === 'person')) {
          signal.throwIfAborted()
          const spoken = await one(lines, message)
          if (!spoken || spoken.text.trim() === '') continue
          const text = await beginningOf(spoken.text)
          const previousAssistant = await answerBefore(lines, row, message)
          yield { message, text, previousAssistant, minutesEast: spoken.minutesEast }
        }
      } finally {
        lines.close()
      }
    },
    /** Every tool that was called, until `found` says that it was the one. */
    someCall: async (part: readonly SaidMessage[], found: (call: Call) => boolean): Promise<boolean> => {
      const lines = open()
      try {
        for (const handful of handfuls(part.filter(({ toolCalls }) => toolCalls > 0)))
          for (const spoken of await lines.read(handful))
            if (spoken?.some(({ toolCalls }) => toolCalls.some(found))) return true
        return false
      } finally {
        lines.close()
      }
    },
  }
}

export type Reading = ReturnType<typeof createReading>

/**
 * What is new in a session, in parts that a model can be told at once: whole turns, as many as fit, and of a turn that
 * does not fit by itself as many messages. Pure.
 */

/** Less than stays when a session is told anew from further on. */
const SLICE_TOKENS = 18_000
/** Long results are cut when they are told. */
const TOLD_BYTES = { tool: 2_000, agent: 28_000, person: 76_000 }

export function slicesOf(part: readonly SaidMessage[], capTokens = SLICE_TOKENS): SaidMessage[][] {
  const slices: SaidMessage[][] = []
  let slice: SaidMessage[] = []
  let tokens = 0
  const add = (messages: readonly SaidMessage[]) => {
    const size = sizeOf(messages)
    if (slice.length > 0 && tokens + size > capTokens) {
      slices.push(slice)
      slice = []
      tokens = 0
    }
    slice.push(...messages)
    tokens += size
  }
  for (const turn of turnsOf(part)) {
    if (sizeOf(turn) <= capTokens) add(turn)
    else for (const message of turn) add([message])
  }
  return slice.length > 0 ? [...slices, slice] : slices
}

export function turnsOf(part: readonly SaidMessage[]): SaidMessage[][] {
  const turns: SaidMessage[][] = []
  for (const message of part) {
    const last = turns.at(-1)
    if (!last || message.startsTurn === 1) turns.push([message])
    else last.push(message)
  }
  return turns
}

/** When each was said: who says nothing of the time speaks when the last one spoke. */
export function timesOf(part: readonly SaidMessage[], nowMs: number): (message: SaidMessage) => number {
  const times = new Map<string, number>()
  let last: number | undefined
  for (const { uid, at } of part) {
    last = at ?? last
    if (last !== undefined) times.set(uid, last)
  }
  return ({ uid }) => times.get(uid) ?? nowMs
}

function sizeOf(messages: readonly SaidMessage[]): number {
  return messages.reduce((sum, message) => sum + tokensOf(message), 0)
}

function tokensOf({ by, length }: SaidMessage): number {
  if (by !== 'tool' && by !== 'agent' && by !== 'person') return 0
  return Math.ceil(Math.min(length, TOLD_BYTES[by]) / BYTES_PER_TOKEN)
}

/** A moment as the clock on the wall showed it: "tomorrow" is a person's own. Pure but for the zone of the machine. */

/** `minutesEast`: where the person was, if that was said; or else where the machine is. */
export function localStamp(ms: number, minutesEast = -new Date(ms).getTimezoneOffset()): string {
  return stampAt(ms, minutesEast)
}

/** Whether a tool that the agent called writes into a folder. Reads names and links of files, never what they hold. */

export type Call = { name: string; input: string }

const WRITERS = new Set([
  'apply_patch',
  'create_file',
  'edit',
  'edit_file',
  'multiedit',
  'notebookedit',
  'replace',
  'str_replace_based_edit_tool',
  'str_replace_editor',
  'write',
  'write_file',
])
const PATHS = ['file_path', 'filePath', 'path', 'absolute_path', 'notebook_path', 'filename']
/** A patch names its files in lines of its own, also where a shell is given it. */
const PATCHED = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$/gm

/** `cwd`: where relative paths begin. */
export function writesInto(dir: string, call: Call, at: { cwd: string; home: string }): boolean {
  const folders = [dir, real(dir)]
  return pathsIn(call).some((path) => {
    const whole = resolve(at.cwd, path.replace(/^~(?=\/)/, at.home))
    return [whole, real(whole)].some((one) => folders.some((folder) => one.startsWith(`${folder}${sep}`)))
  })
}

function pathsIn({ name, input }: Call): string[] {
  const text = parsed(input)
  const patched = texts(text).flatMap((each) => [...each.matchAll(PATCHED)].map(([, path]) => (path ?? '').trim()))
  if (!WRITERS.has(name.toLowerCase()) || typeof text !== 'object' || text === null) return patched
  const named = PATHS.map((field) => (text as Record<string, unknown>)[field])
  return [...named.filter((path) => typeof path === 'string'), ...patched]
}

function texts(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null
    ? Object.values(value).filter((one) => typeof one === 'string')
    : []
}

function parsed(input: string): unknown {
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}

/** Without its links, as far as it exists. */
function real(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const above = dirname(path)
    return above === path ? path : `${real(above)}${path.slice(above.length)}`
  }
}
