/** Decides whether a letter may be sent, and what becomes of it: one mail for each reader. Does no I/O. */
import { MemoryError } from '../../schema/errors.ts'
import { type Letter, MAIL_BODY_BYTES, type MailKind } from '../../schema/mail.ts'
import type { Named, NewMail } from './mail-table.ts'

/** Each kind of answer, with what it answers. */
const ANSWERS: Partial<Record<MailKind, MailKind>> = {
  shutdown_response: 'shutdown_request',
  plan_approval_response: 'plan_approval_request',
}
const REQUESTS: readonly (MailKind | undefined)[] = Object.values(ANSWERS)

/** What has not been acknowledged may not be more than this. */
const MOST_WAITING = 1_000

export function isRequest(kind: MailKind): boolean {
  return REQUESTS.includes(kind)
}

/** What can be said of a letter before anything is known of who is there. */
export function checkLetter({ kind, to, body, requestId, approve }: Letter): void {
  const bytes = Buffer.byteLength(body)
  if (bytes > MAIL_BODY_BYTES)
    throw new MemoryError('TOO_LARGE', `the body has ${bytes} bytes, and mail at most ${MAIL_BODY_BYTES}`, {
      hint: 'write it to a file, and send its path',
    })
  const isAnswer = ANSWERS[kind] !== undefined
  if (isAnswer && requestId === undefined)
    throw new MemoryError('BAD_REQUEST', `body.requestId: a ${kind} names the request that it answers`)
  if (isAnswer && to === '*') throw new MemoryError('BAD_REQUEST', `body.to: a ${kind} goes to the one who asked`)
  if (!isAnswer && approve !== undefined)
    throw new MemoryError('BAD_REQUEST', `body.approve: only a response says yes or no`)
  if (kind === 'text' && requestId !== undefined)
    throw new MemoryError('BAD_REQUEST', 'body.requestId: a text is no request', {
      hint: 'leave it out, or say which kind of request it is',
    })
}

/** A reader: whose box it is, and all boxes that are read with it. */
export type Reader = { box: string; boxes: readonly string[]; waiting: number }

export type Situation = {
  at: number
  readers: readonly Reader[]
  /** All that is the sender's. */
  senderBoxes: readonly string[]
  /** What names the same request. */
  named: readonly Named[]
}

export function planMail(letter: Letter, { at, readers, senderBoxes, named }: Situation): NewMail[] {
  const { from: sender, to: addressed, kind, body, summary, requestId: request, approve } = letter
  if (request !== undefined) {
    if (isRequest(kind)) refuseRepeated(letter, readers, named)
    else refuseUnasked(letter, readers[0]?.boxes ?? [], senderBoxes, named)
  }
  const full = readers.filter(({ waiting }) => waiting >= MOST_WAITING).map(({ box }) => box)
  if (full.length > 0)
    throw new MemoryError(
      'CONFLICT',
      `${full.join(', ')}: ${MOST_WAITING} mails wait there already; nothing was sent`,
      {
        hint: 'try again once some were read, or write to those who read theirs',
        details: { full },
      },
    )
  return readers.map(({ box }) => ({ at, sender, box, addressed, kind, body, summary, request, approve }))
}

/** Also tells a sender who got no answer that the first one had arrived. */
function refuseRepeated({ from, kind, requestId }: Letter, readers: readonly Reader[], named: readonly Named[]): void {
  const again = readers.find(({ box }) =>
    named.some((mail) => mail.kind === kind && mail.sender === from && mail.box === box),
  )
  if (again)
    throw new MemoryError('CONFLICT', `${again.box} has a ${kind} with the id ${requestId} from ${from} already`, {
      hint: 'it was sent; another request needs another id',
    })
}

function refuseUnasked(
  { from, to, kind, requestId }: Letter,
  askerBoxes: readonly string[],
  answererBoxes: readonly string[],
  named: readonly Named[],
): void {
  const asked = ANSWERS[kind]
  const between = (one: string, boxes: readonly string[]) => boxes.includes(one)
  const wasAsked = named.some(
    (mail) => mail.kind === asked && between(mail.sender, askerBoxes) && between(mail.box, answererBoxes),
  )
  if (!wasAsked)
    throw new MemoryError('REFUSED', `there is no ${asked} with the id ${requestId} from ${to} to ${from}`, {
      reason: 'shape',
      hint: 'answer with the requestId of the mail, to the one it is from',
    })
  const wasAnswered = named.some(
    (mail) => mail.kind === kind && between(mail.sender, answererBoxes) && between(mail.box, askerBoxes),
  )
  if (wasAnswered)
    throw new MemoryError('CONFLICT', `${from} has answered the ${asked} ${requestId} already`, {
      hint: 'an answer is final; say more in a text',
    })
}
