/** What persons said in a part of a session, read back from its transcripts, when, and what the agent did meanwhile. */
import { realpathSync } from 'node:fs'
import { dirname, resolve, sep } from 'node:path'
import { BYTES_PER_TOKEN, copied, headOf, stampAt, tailOf } from '../platform/text.ts'
import { redact } from '../secrets/redact.ts'
import { type MessageRow, type MessageTable, meantIn, readMessages } from '../sessions/message-table.ts'
import { messagesAt } from '../transcripts/digest.ts'
import { openReadBack } from '../transcripts/read-back.ts'

type Word = {
  message: MessageRow
  text: string
  previousAssistant: string | undefined
  /** The time zone in which it was said, if the transcript tells. */
  minutesEast: number | undefined
}

/** As much as a model is told of a person's message: what is longer was pasted, and its beginning tells what for. */
const LONGEST_CHARS = 76_000
/** Of an answer its end: rules look at no more when they read what is replied to it. */
const ANSWER_CHARS = 12_000
/** Not kept where a text was cut: half a credential is not recognised. */
const MARGIN_CHARS = 4_000

/** What persons said, without credentials, one by one: a day of it need not be held at once. */
export async function* wordsIn(
  sessions: MessageTable,
  row: number,
  part: readonly MessageRow[],
  signal: AbortSignal,
): AsyncGenerator<Word> {
  const lines = openReadBack(messagesAt)
  const messageAt = async (message: MessageRow) => meantIn((await lines.read([message]))[0], message)
  try {
    for (const message of part.filter(({ by }) => by === 'person')) {
      signal.throwIfAborted()
      const spoken = await messageAt(message)
      if (!spoken || spoken.text.trim() === '') continue
      let previousAssistant: string | undefined
      for (const before of sessions.agentBefore(row, message.id)) {
        const { text = '' } = (await messageAt(before)) ?? {}
        if (text === '') continue
        previousAssistant = await redactedEnd(text)
        break
      }
      const text = await redactedBeginning(spoken.text)
      yield { message, text, previousAssistant, minutesEast: spoken.minutesEast }
    }
  } finally {
    lines.close()
  }
}

async function redactedBeginning(text: string): Promise<string> {
  if (text.length <= LONGEST_CHARS) return (await redact(text)).text
  return (await redact(copied(headOf(text, LONGEST_CHARS)))).text.slice(0, -MARGIN_CHARS)
}

async function redactedEnd(text: string): Promise<string> {
  if (text.length <= ANSWER_CHARS) return (await redact(text)).text
  return (await redact(copied(tailOf(text, ANSWER_CHARS)))).text.slice(MARGIN_CHARS)
}

/** Whether one of the tool calls is such a one. */
export async function hasCall(part: readonly MessageRow[], isSuch: (call: Call) => boolean): Promise<boolean> {
  for await (const [, { toolCalls }] of readMessages(part.filter((message) => message.toolCalls > 0)))
    if (toolCalls.some(isSuch)) return true
  return false
}

/** Less than stays when a session is told anew from further on. */
const SLICE_TOKENS = 18_000
/** Long results are cut when they are told. */
const TOLD_BYTES = { tool: 2_000, agent: 28_000, person: 76_000 }

/** Parts that a model can be told at once: whole turns, as many as fit, and of a turn that is too long as many messages. */
export function slicesOf(part: readonly MessageRow[], capTokens = SLICE_TOKENS): MessageRow[][] {
  const slices: MessageRow[][] = []
  let slice: MessageRow[] = []
  let tokens = 0
  const add = (messages: readonly MessageRow[]) => {
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

export function turnsOf(part: readonly MessageRow[]): MessageRow[][] {
  const turns: MessageRow[][] = []
  for (const message of part) {
    const last = turns.at(-1)
    if (!last || message.startsTurn === 1) turns.push([message])
    else last.push(message)
  }
  return turns
}

/** When each was said: a message without a time has that of the one before it. */
export function timesOf(part: readonly MessageRow[], nowMs: number): (message: MessageRow) => number {
  const times = new Map<string, number>()
  let last: number | undefined
  for (const { uid, at } of part) {
    last = at ?? last
    if (last !== undefined) times.set(uid, last)
  }
  return ({ uid }) => times.get(uid) ?? nowMs
}

function sizeOf(messages: readonly MessageRow[]): number {
  return messages.reduce((sum, message) => sum + tokensOf(message), 0)
}

function tokensOf({ by, length }: MessageRow): number {
  if (by !== 'tool' && by !== 'agent' && by !== 'person') return 0
  return Math.ceil(Math.min(length, TOLD_BYTES[by]) / BYTES_PER_TOKEN)
}

/** The day at the end of a part, where the machine is. */
export function dayOfPart(part: readonly MessageRow[], nowMs: number): string {
  const last = part.at(-1)
  return localStamp(last ? timesOf(part, nowMs)(last) : nowMs).slice(0, 10)
}

/** A moment as a clock on the wall shows it: in the zone of the person, or else of the machine. */
export function localStamp(ms: number, minutesEast = -new Date(ms).getTimezoneOffset()): string {
  return stampAt(ms, minutesEast)
}

type Call = { name: string; input: string }

const WRITERS = new Set(
  'apply_patch create_file edit edit_file multiedit notebookedit replace str_replace_based_edit_tool str_replace_editor write write_file'.split(
    ' ',
  ),
)
const PATHS = ['file_path', 'filePath', 'path', 'absolute_path', 'notebook_path', 'filename']
/** A patch names its files in lines of its own, also where a shell is given it. */
const PATCHED = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$/gm

/** Whether a tool call writes into a folder. `cwd`: where relative paths begin. Reads names and links, no contents. */
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
