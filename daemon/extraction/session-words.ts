/** What persons said in a part of a session: read back, without credentials, and only what they typed themselves. */
import { realpathSync } from 'node:fs'
import { dirname, resolve, sep } from 'node:path'
import { parseJson } from '../platform/json.ts'
import { BYTES_PER_TOKEN, copied, headOf, stampAt, tailOf } from '../platform/text.ts'
import { redact } from '../secrets/redact.ts'
import { type MessageRow, type MessageTable, readMessages } from '../sessions/message-table.ts'

/** As much as a model is told of a message: what is longer was pasted, and its beginning tells what for. */
const LONGEST_CHARS = 76_000
/** Of the end of an answer: the rules look at no more. */
const ANSWER_CHARS = 12_000
/** Dropped where a text was cut: half a credential is not recognised. */
const MARGIN_CHARS = 4_000

export async function* wordsIn(sessions: MessageTable, row: number, part: readonly MessageRow[], signal: AbortSignal) {
  const typed = part.filter(({ by }) => by === 'person')
  for await (const [message, spoken] of readMessages(typed, signal, 1)) {
    if (spoken.text.trim() === '') continue
    let answer = ''
    for await (const [, before] of readMessages(sessions.agentBefore(row, message.id), signal, 1)) {
      answer = before.text
      if (answer !== '') break
    }
    const previousAssistant = answer === '' ? undefined : await redactedEnd(answer)
    const text = await redactedBeginning(spoken.text)
    yield { message, text, previousAssistant, minutesEast: spoken.minutesEast }
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

/** Longer text is a document: people say what they want before or after it. */
const CAP_OWN_UNITS = 6_000
const EDGE_UNITS = 1_500
const CAP_LINE_UNITS = 3_000
/** Of a longer text only the ends are searched, and its fences. */
const LOOKED_UNITS = 8_000

const FENCE = /^[ \t]{0,8}(```|~~~|""")/
const LOG_OR_TRACE =
  /^\s*(?:at [\w$.<]|File "|Traceback \(|Caused by:|\.\.\. \d+ more|(?:[\w$]+\.)*[A-Z]\w*(?:Exception|Error|Warning)\b:|\[?\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d(?::\d\d)?\]? |\[?(?:INFO|WARN(?:ING)?|ERROR|DEBUG|FATAL|TRACE)\b|npm (?:ERR|WARN)|error(?:\[\w+\])?: |warning: |thread '|Error response from|\d+ \|)/
const CHAT = /^\s*(?:\[?\d\d?:\d\d(?::\d\d)?(?: ?[ap]m)?\]? ?<?[\w.-]+>?:|<[\w.-]+> )/i
const CODE =
  /^\s*(?:\/\/|\/\*|\*\/|#(?!\d|[a-z]+-)|--(?: |$)(?!.*[a-z]+ [a-z]+ [a-z]+ [a-z]+)|<\/?[a-z!]|[$%] \S|[@+-]{2,}|[{}()[\];]+\s*$|(?:import|export|const|let|var|def|class|public|private|protected|static|return|function|func|fn|package|#include|using)\s+[\w{*"'$]|(?:select|insert into|update|delete from|create (?:table|index)|alter table)\s.*|["'{[].*["'}\]],?\s*$|["']?[\w.-]+["']?\s*[:=]\s*["'[{]?[\w./:-]*["'\]}]?,?\s*$)|[{;]\s*$|^\s*[\w.]+\([^)]*\)[;{]?\s*$/i
const MAIL_HEADER = /^(?:From|To|Cc|Subject|Sent|发件人|收件人|主题)[:：] ?\S/
const SALUTATION =
  /^\s*(?:hi|hello|dear|hey) (?:all|everyone|team|there|[A-Z][a-z]+),?\s*$|^\s*(?:各位|尊敬的|亲爱的|大家好).{0,12}[：:，,]?\s*$/
const DIFF_OR_HEADING = /^(?:diff --git|Index:|---\s|\+\+\+ |@@ |#{1,6} \S)/

/** Linear in the text. `sparesProse`: lines that begin like code but read like a sentence count as typed. */
export function partWords(text: string, { sparesProse = false } = {}): { own: string; pasted: string } {
  const own: string[] = []
  const pasted: string[] = []
  let fence: string | undefined
  let isSkipping = false
  let inCode = false
  let end = 0
  for (const typed of text.split('\n')) {
    const start = end
    end += typed.length + 1
    const line = typed.endsWith('\r') ? typed.slice(0, -1) : typed
    const isAmid = end > LOOKED_UNITS && end < text.length - LOOKED_UNITS
    const mark = FENCE.exec(line)?.[1]
    if (fence !== undefined || mark !== undefined || isAmid) {
      pasted.push(line)
      const isOneLine = mark !== undefined && line.slice(line.indexOf(mark) + mark.length).includes(mark)
      if (fence === undefined) fence = isOneLine ? undefined : mark
      else if (mark === fence || line.trimEnd().endsWith(fence)) fence = undefined
      continue
    }
    if (line.trim() === '') isSkipping = false
    // Where a letter ends cannot be seen.
    if (MAIL_HEADER.test(line) || SALUTATION.test(line)) {
      pasted.push(text.slice(start))
      break
    }
    if (DIFF_OR_HEADING.test(line)) isSkipping = true
    inCode = isPasted(line, sparesProse) || (inCode && /^\s{2,}\S/.test(line))
    const part = isSkipping || inCode ? pasted : own
    part.push(line)
  }
  const all = own
    .join('\n')
    .replace(/\n{2,}/g, '\n')
    .trim()
  if (all.length <= CAP_OWN_UNITS) return { own: all, pasted: pasted.join('\n') }
  const first = all.slice(0, EDGE_UNITS)
  const last = all.slice(-EDGE_UNITS)
  const edges = `${first.slice(0, first.lastIndexOf('\n') + 1)}\n${last.slice(last.indexOf('\n') + 1)}`
  return { own: edges, pasted: [...pasted, all].join('\n') }
}

function isPasted(line: string, sparesProse: boolean): boolean {
  if (line.length > CAP_LINE_UNITS || /[!-~]{300}/.test(line)) return true
  if (/^\s*(?:>|\|)/.test(line) || /^(?: {4}|\t)/.test(line)) return true
  return LOG_OR_TRACE.test(line) || CHAT.test(line) || (CODE.test(line) && !(sparesProse && readsLikeProse(line)))
}

/** "Update the changelog with every release", or an address alone on its line. */
function readsLikeProse(line: string): boolean {
  if (/^\s*https?:\/\/\S+\s*$/.test(line)) return true
  return !/[{}=<>;]|\)\s*$/.test(line) && (line.match(/[\p{L}']{2,}/gu) ?? []).length >= 4
}

/** Less than what is kept when a session is told again from a later message. */
const SLICE_TOKENS = 18_000
/** Longer messages are cut when a model is told them. */
const TOLD_BYTES: Partial<Record<string, number>> = { tool: 2_000, agent: 28_000, person: 76_000 }

/** Slices that a model can be told at once: whole turns, or single messages of a turn that is too long. */
export function slicesOf(part: readonly MessageRow[], capTokens = SLICE_TOKENS): MessageRow[][] {
  const slices: MessageRow[][] = []
  let tokens = 0
  const whole = (turn: MessageRow[]) => (sizeOf(turn) <= capTokens ? [turn] : turn.map((message) => [message]))
  for (const messages of turnsOf(part).flatMap(whole)) {
    const size = sizeOf(messages)
    const last = slices.at(-1)
    const fits = last !== undefined && tokens + size <= capTokens
    if (fits) last.push(...messages)
    else slices.push(messages)
    tokens = fits ? tokens + size : size
  }
  return slices
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

function sizeOf(messages: readonly MessageRow[]): number {
  const tokensOf = ({ by, length }: MessageRow) => Math.ceil(Math.min(length, TOLD_BYTES[by] ?? 0) / BYTES_PER_TOKEN)
  return messages.reduce((sum, message) => sum + tokensOf(message), 0)
}

export function timesOf(part: readonly MessageRow[], nowMs: number): (message: MessageRow) => number {
  const times = new Map<string, number>()
  let last: number | undefined
  for (const { uid, at } of part) {
    last = at ?? last
    if (last !== undefined) times.set(uid, last)
  }
  return ({ uid }) => times.get(uid) ?? nowMs
}

export function dayOfPart(part: readonly MessageRow[], nowMs: number): string {
  const lastMs = part.findLast(({ at }) => at !== null)?.at ?? nowMs
  return localStamp(lastMs).slice(0, 10)
}

/** In the zone of the person, or else of the machine. */
export function localStamp(ms: number, minutesEast = -new Date(ms).getTimezoneOffset()): string {
  return stampAt(ms, minutesEast)
}

type Call = { name: string; input: string }
type Place = { cwd: string; home: string }

export async function hasWrite(part: readonly MessageRow[], dir: string, at: Place): Promise<boolean> {
  for await (const [, { toolCalls }] of readMessages(part.filter((message) => message.toolCalls > 0)))
    if (toolCalls.some((call) => writesInto(dir, call, at))) return true
  return false
}

const WRITERS = new Set(
  `apply_patch create_file edit edit_file multiedit notebookedit replace str_replace_based_edit_tool str_replace_editor
  write write_file`.split(/\s+/),
)
const PATHS = ['file_path', 'filePath', 'path', 'absolute_path', 'notebook_path', 'filename']
/** A patch names its files in lines of its own, also when it is given to a shell. */
const PATCHED = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$/gm

/** Reads names and links, no contents. */
export function writesInto(dir: string, call: Call, { cwd, home }: Place): boolean {
  const folders = [dir, real(dir)]
  return pathsIn(call).some((path) => {
    const whole = resolve(cwd, path.replace(/^~(?=\/)/, home))
    return [whole, real(whole)].some((one) => folders.some((folder) => one.startsWith(`${folder}${sep}`)))
  })
}

function pathsIn({ name, input }: Call): string[] {
  const value = parseJson(input) ?? input
  const fields = new Map(typeof value === 'object' ? Object.entries(value) : [['', value]])
  const isText = (field: unknown) => typeof field === 'string'
  const texts = [...fields.values()].filter(isText)
  const patched = texts.flatMap((text) => Array.from(text.matchAll(PATCHED), ([, path = '']) => path.trim()))
  const named = WRITERS.has(name.toLowerCase()) ? PATHS.map((field) => fields.get(field)).filter(isText) : []
  return [...named, ...patched]
}

/** As `realpath`, for paths whose end does not exist. */
function real(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const above = dirname(path)
    return above === path ? path : `${real(above)}${path.slice(above.length)}`
  }
}
