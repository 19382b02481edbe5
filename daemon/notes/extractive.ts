/**
 * Notes without a model: what the user asked, which files were touched, which commands were run, what failed, what was
 * answered, turn by turn. Gathered message by message, then added to the notes there are. Decides no structure. Pure.
 */
import { isShellTool } from '../platform/shell-tools.ts'
import { deedsOf, errorsIn } from './deeds.ts'
import type { Spoken } from './reading.ts'
import { short, shortWithNames } from './wording.ts'

type Turn = { at: number | null; asked: string; calls: number; changed: Set<string>; answer: string }

export type Gathered = {
  requests: string[]
  corrections: string[]
  files: Map<string, Set<string>>
  commands: Map<string, number>
  errors: Set<string>
  turns: Turn[]
  answer: string
}

const REQUEST_CHARS = 400
const NAMES_CHARS = 400
const COMMAND_CHARS = 200
const ERROR_CHARS = 240
const ANSWER_CHARS = 600

/** Said by somebody who wants it otherwise. */
const CORRECTION =
  /^\W*(?:no[,.! ]|nope\b|don['’]t\b|do not\b|stop\b|actually\b|instead\b|wrong\b|that['’]s (?:not|wrong)|not (?:like|what)|undo\b|revert\b|不要|不对|别|错了|不是)/i

export function createGathering(cwd: string | null) {
  const gathered: Gathered = {
    requests: [],
    corrections: [],
    files: new Map(),
    commands: new Map(),
    errors: new Set(),
    turns: [],
    answer: '',
  }
  const calls = new Map<string, { shell: boolean; of: string }>()
  const local = (path: string) => (cwd !== null && path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path)
  const turnOf = (): Turn => {
    const last = gathered.turns.at(-1)
    if (last) return last
    const first: Turn = { at: null, asked: '', calls: 0, changed: new Set(), answer: '' }
    gathered.turns.push(first)
    return first
  }

  const hearPerson = ({ text, at, startsTurn }: Spoken) => {
    if (startsTurn === 1) gathered.turns.push({ at, asked: text, calls: 0, changed: new Set(), answer: '' })
    if (text.trim() === '') return
    gathered.requests.push(shortWithNames(text, REQUEST_CHARS, NAMES_CHARS))
    if (CORRECTION.test(text)) gathered.corrections.push(short(text, ERROR_CHARS))
  }

  const hearAgent = ({ text, toolCalls }: Spoken) => {
    const turn = turnOf()
    turn.calls += toolCalls.length
    if (text.trim() !== '') {
      turn.answer = short(text, ANSWER_CHARS)
      gathered.answer = turn.answer
    }
    for (const call of toolCalls) {
      let of = call.name
      for (const deed of deedsOf(call)) {
        if ('command' in deed) {
          of = `\`${inCode(short(deed.command, COMMAND_CHARS))}\``
          gathered.commands.set(of, (gathered.commands.get(of) ?? 0) + 1)
          continue
        }
        const file = short(local(deed.file), COMMAND_CHARS)
        of = `${call.name} ${file}`
        gathered.files.set(file, (gathered.files.get(file) ?? new Set()).add(deed.how))
        if (deed.how !== 'read') turn.changed.add(file)
      }
      calls.set(call.id, { shell: isShellTool(call.name), of })
    }
  }

  const hearTool = ({ toolResults }: Spoken) => {
    for (const { callId, text } of toolResults) {
      const call = calls.get(callId)
      calls.delete(callId)
      for (const line of errorsIn(text, call?.shell ?? false))
        gathered.errors.add(`${call ? `${call.of}: ` : ''}${short(line, ERROR_CHARS)}`)
    }
  }

  return {
    gathered,
    hear: (spoken: Spoken) => {
      if (spoken.by === 'person') hearPerson(spoken)
      if (spoken.by === 'agent') hearAgent(spoken)
      if (spoken.by === 'tool') hearTool(spoken)
    },
  }
}

/** A backtick would end the code it stands in. */
function inCode(text: string): string {
  return text.replaceAll('`', "'")
}
