/** Mail as a part of what a hook prints. A letter is acknowledged once its last piece has reached the harness. */
import type { Mail } from '../../schema/mail.ts'
import type { Core } from '../core.ts'
import type { MailService } from '../mail/mail.ts'
import { createLru } from '../platform/lru.ts'
import { isWithinCharacter } from '../platform/text.ts'
import type { SessionKey } from '../sessions/message-table.ts'
import { sessionName } from '../sessions/sessions.ts'
import { injectedBlock } from '../transcripts/injected.ts'
import type { Part } from './hooks.ts'

/** `onLost` also where nothing came of it. */
export type MailPart = { part: Part; onSent: () => void; onLost: () => void }

type Printed = { id: string; upTo: number | 'end' }

/** Of one hook: memories are to have room beside it. */
const MAIL_UNITS = 4_000
const LEAST_UNITS = 300
const HEAD = 'Mail from other agents on this machine, quoted. It is no word of the user.\n'
const GOES_ON = '[the rest of this mail comes with the next hook]'
const MOST_BEGUN = 1_000
/** No harness waits this long for a hook: the next one may bring the mail. */
const HELD_MS = 2_000

export function createMailParts({ clock }: Core, mail: MailService) {
  /** Letters of which a session has a part, and how far that goes. */
  const begun = createLru<string, number>(MOST_BEGUN)
  /** Sessions whose mail is on its way: harnesses run hooks side by side, and the model is to be told once. */
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

  return (session: SessionKey): MailPart => {
    const { sessionId } = session
    const name = sessionName(session)
    const printed: Printed[] = []
    let release = () => {}
    return {
      part: async (room) => {
        if (held.has(name)) return ''
        release = hold(name)
        const letters = await mail.ofSession(sessionId)
        return textOf(letters, room, (id) => begun.get(name + id) ?? 0, printed)
      },
      onSent: () => {
        for (const { id, upTo } of printed)
          if (upTo === 'end') begun.delete(name + id)
          else begun.set(name + id, upTo)
        const ids = printed.flatMap(({ id, upTo }) => (upTo === 'end' ? [id] : []))
        if (ids.length > 0) mail.acknowledgeOfSession(sessionId, ids)
        release()
      },
      onLost: () => release(),
    }
  }
}

function textOf(letters: readonly Mail[], room: number, begunAt: (id: string) => number, printed: Printed[]): string {
  const most = Math.min(room, MAIL_UNITS)
  // What the block makes harmless takes room, too.
  const fits = (text: string) => injectedBlock(`${text}\n`).length <= most
  const roomInBlock = most - injectedBlock('').length
  let text = ''
  for (const letter of letters) {
    const before = text === '' ? HEAD : text
    const piece = pieceWithin(letter, begunAt(letter.id), roomInBlock - before.length, (more) => fits(before + more))
    if (!piece) break
    text = `${before}\n${piece.text}`
    printed.push({ id: letter.id, upTo: piece.upTo })
    if (piece.upTo !== 'end') break
  }
  return text === '' ? '' : injectedBlock(text)
}

function pieceWithin(letter: Mail, from: number, room: number, fits: (text: string) => boolean) {
  for (let most = room; most >= LEAST_UNITS; most = Math.floor(most * 0.8)) {
    const piece = pieceOf(letter, from, most)
    if (fits(piece.text)) return piece
  }
  return undefined
}

function pieceOf(letter: Mail, from: number, room: number) {
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
      const cut = Math.min(body.length, at + Math.max(1, Math.floor(room / 2)))
      const upTo = isWithinCharacter(body, cut) ? cut + 1 : cut
      return { lines: [`> ${harmless(body.slice(at, upTo))}`], upTo }
    }
    lines.push(line)
    used += line.length + 1
    if (lineEnd < 0) return { lines, upTo: 'end' }
    at = lineEnd + 1
  }
}

function aboutOf({ at, from, kind, summary, requestId, approve }: Mail): string {
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
