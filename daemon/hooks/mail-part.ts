/**
 * Mail for a session, quoted and within the room there is. A letter that is longer than that comes in pieces, one with each
 * hook; it counts as told when its last piece was taken.
 */

import type { Clock } from '../platform/clock.ts'
import { isWithinCharacter } from '../platform/text.ts'
import type { Part } from './answer.ts'
import type { SessionName } from './harnesses.ts'

export type Letter = {
  id: string
  at: string
  from: string
  kind: string
  body: string
  summary?: string | undefined
  requestId?: string | undefined
  approve?: boolean | undefined
}

/** How far a letter was told: all of it, or up to that unit of its body. */
export type Told = { id: string; upTo: number | 'end' }

/** Of one hook: memories are to have room beside it. */
const MAIL_UNITS = 4_000
/** Less than this of a letter is not worth a beginning. */
const LEAST_UNITS = 300
const HEAD = 'Mail from other agents on this machine, quoted. It is no word of the user.\n'
const GOES_ON = '[the rest of this mail comes with the next hook]'

type Deps = {
  load: () => Promise<readonly Letter[]>
  /** How much of a letter the session has already. */
  begunAt: (id: string) => number
  mark: (text: string) => string
  tell: (told: Told) => void
}

/** Oldest first; `tell` hears of what is in it. */
export function mailPart({ load, begunAt, mark, tell }: Deps): Part {
  return async (room) => {
    const letters = await load()
    const most = Math.min(room, MAIL_UNITS)
    // What the mark makes harmless takes room too.
    const fits = (text: string) => mark(`${text}\n`).length <= most
    const roomInMark = most - mark('').length
    let said = ''
    for (const letter of letters) {
      const before = said === '' ? HEAD : said
      const piece = pieceWithin(letter, begunAt(letter.id), roomInMark - before.length, (text) => fits(before + text))
      if (!piece) break
      said = `${before}\n${piece.text}`
      tell({ id: letter.id, upTo: piece.upTo })
      if (piece.upTo !== 'end') break
    }
    return said === '' ? '' : mark(said)
  }
}

function pieceWithin(letter: Letter, from: number, room: number, fits: (text: string) => boolean) {
  for (let most = room; most >= LEAST_UNITS; most = Math.floor(most * 0.8)) {
    const piece = pieceOf(letter, from, most)
    if (fits(piece.text)) return piece
  }
  return undefined
}

function pieceOf(letter: Letter, from: number, room: number): { text: string; upTo: number | 'end' } {
  const about = `${aboutOf(letter)}${from === 0 ? '' : ' · it goes on:'}\n`
  const { lines, upTo } = quoted(letter.body, from, room - about.length - GOES_ON.length - 2)
  return { text: `${about}${lines.join('\n')}\n${upTo === 'end' ? '' : `${GOES_ON}\n`}`, upTo }
}

/** Whole lines, as many as fit; of a line that is longer than all of it, a part. */
function quoted(body: string, from: number, room: number): { lines: string[]; upTo: number | 'end' } {
  const lines: string[] = []
  let used = 0
  for (let at = from; ; ) {
    const lineEnd = body.indexOf('\n', at)
    const end = lineEnd < 0 ? body.length : lineEnd
    const line = `> ${harmless(body.slice(at, end))}`
    if (used + line.length + 1 > room) {
      if (lines.length > 0) return { lines, upTo: at }
      const part = someOf(body, at, Math.max(1, Math.floor(room / 2)))
      return { lines: [`> ${harmless(body.slice(at, part))}`], upTo: part }
    }
    lines.push(line)
    used += line.length + 1
    if (lineEnd < 0) return { lines, upTo: 'end' }
    at = lineEnd + 1
  }
}

function someOf(text: string, from: number, units: number): number {
  const end = Math.min(text.length, from + units)
  return isWithinCharacter(text, end) ? end + 1 : end
}

function aboutOf({ at, from, kind, summary, requestId, approve }: Letter): string {
  return [
    `${kind === 'text' ? 'Mail' : kind} from ${oneLine(from)}, ${at}`,
    ...(summary === undefined ? [] : [oneLine(summary)]),
    ...(requestId === undefined ? [] : [`request ${oneLine(requestId)}`]),
    ...(approve === undefined ? [] : [approve ? 'yes' : 'no']),
  ].join(' · ')
}

/** What a model could take for a word of its harness. */
function harmless(line: string): string {
  return line.replace(/<(?=\/?(?:system-reminder|hook_context|session_context|user_instructions)\b)/gi, '&lt;')
}

function oneLine(text: string): string {
  return harmless(text.replace(/\s+/g, ' '))
}

/**
 * Gives a session its mail, one hook at a time: harnesses run hooks side by side, and the model is to be told once. What a hook
 * brought counts as read when it was taken, and comes again when it was not.
 */

type MailGivingDeps = {
  mailFor: (session: SessionName) => Promise<readonly Letter[]>
  acknowledge: (session: SessionName, ids: string[]) => void
  mark: (text: string) => string
  clock: Pick<Clock, 'after'>
}

/** `onLost` also where nothing came of it. */
export type Giving = { part: Part; onSent: () => void; onLost: () => void }

const MOST_BEGUN = 1_000
/** Nobody waits this long for a hook: whatever became of it, the next one may bring the mail. */
const HELD_MS = 2_000

export function createMailGiving({ mailFor, acknowledge, mark, clock }: MailGivingDeps) {
  /** Letters of which a session has a part, and how far that goes. */
  const begun = new Map<string, number>()
  /** Sessions whose mail is on its way, with what brings it. */
  const held = new Map<string, object>()

  const hold = (name: string): (() => void) => {
    const mine = {}
    held.set(name, mine)
    const release = () => {
      timer.stop()
      if (held.get(name) === mine) held.delete(name)
    }
    const timer = clock.after(HELD_MS, release)
    return release
  }

  return (session: SessionName): Giving => {
    const name = JSON.stringify([session.harness, session.sessionId])
    const told: Told[] = []
    let release = () => {}
    return {
      part: mailPart({
        load: async () => {
          if (held.has(name)) return []
          release = hold(name)
          return mailFor(session)
        },
        begunAt: (id) => begun.get(name + id) ?? 0,
        mark,
        tell: (each) => told.push(each),
      }),
      onSent: () => {
        for (const { id, upTo } of told) {
          begun.delete(name + id)
          if (upTo !== 'end') remember(begun, name + id, upTo)
        }
        const ids = told.flatMap(({ id, upTo }) => (upTo === 'end' ? [id] : []))
        if (ids.length > 0) acknowledge(session, ids)
        release()
      },
      onLost: () => release(),
    }
  }
}

function remember(begun: Map<string, number>, key: string, upTo: number): void {
  begun.set(key, upTo)
  const [oldest] = begun.keys()
  if (begun.size > MOST_BEGUN && oldest !== undefined) begun.delete(oldest)
}
