/**
 * Mail between agents: kept before its sender is answered, read in the order in which it came, and given again until its
 * reader acknowledges it. What stands in it is logged nowhere.
 */
import { randomUUID } from 'node:crypto'
import { MemoryError } from '../../schema/errors.ts'
import {
  type Acknowledged,
  type Letter,
  MAIL_BODY_BYTES,
  type Mail,
  type MailKind,
  type MailList,
  type Sent,
} from '../../schema/mail.ts'
import type { Db } from '../db/database.ts'
import type { Clock } from '../platform/clock.ts'
import { createInTurn } from '../platform/queue.ts'
import { type Registry, SESSION } from './registry.ts'

type News = { id: string; from: string; to: string; sessionId?: string; kind: MailKind; requestId?: string }

type Deps = {
  mail: MailTable
  registry: Registry
  clock: Clock
  redact: (text: string) => Promise<{ text: string; kinds: readonly string[] }>
  onMail: (news: News) => void
}

export type Reading = { waitMs: number; after?: number | undefined; limit?: number | undefined; signal: AbortSignal }

export type Mailbox = {
  send(letter: Letter): Promise<Sent>
  read(address: string, reading: Reading): Promise<MailList>
  acknowledge(address: string, ids: readonly number[]): Acknowledged
  /** Somebody new may be reading: whoever waits looks again. */
  wake(): void
  isWaitedFor(address: string): boolean
  expire(): number
  /** Lets everybody go who waits, and nobody wait any more. */
  close(): void
}

const EXPIRE_MS = 7 * 86_400_000
const PAGE = 100
/** Of bodies in one answer; a single one may always be there. */
const PAGE_BYTES = 1_000_000

export function createMailbox({ mail, registry, clock, redact, onMail }: Deps): Mailbox {
  const waiting = createWaiting(clock)
  const inTurn = createInTurn()
  const boxesOf = (address: string) => registry.boxesOf(address) ?? unknown(address)

  const readerOf = (address: string): Reader => {
    const boxes = boxesOf(address)
    return { box: boxes[0], boxes, waiting: mail.count(boxes) }
  }
  const readersOf = ({ from, to }: Letter): Reader[] => {
    if (to !== '*') return [readerOf(to)]
    const isSender = (name: string, session: string) => name === from || SESSION + session === from
    return registry.alive().flatMap(({ name, session }) => (isSender(name, session) ? [] : [readerOf(name)]))
  }

  const post = async (given: Letter): Promise<Sent> => {
    checkLetter(given)
    const made = isRequest(given.kind) && given.requestId === undefined ? { requestId: randomUUID() } : {}
    const [body, summary] = await Promise.all([redact(given.body), given.summary && redact(given.summary)])
    const letter = { ...given, ...made, body: body.text, ...(summary && { summary: summary.text }) }
    const { from, kind, requestId } = letter
    let planned: readonly { box: string }[] = []
    const ids = mail
      .addAll(() => {
        const plan = planMail(letter, {
          at: clock.now(),
          readers: readersOf(letter),
          senderBoxes: registry.boxesOf(from) ?? [from],
          named: requestId === undefined ? [] : mail.naming(requestId),
        })
        planned = plan
        return plan
      })
      .map(String)
    for (const [n, { box: to }] of planned.entries()) {
      const sessionId = registry.sessionOf(to)
      const id = ids[n] as string
      onMail({ id, from, to, kind, ...(sessionId && { sessionId }), ...(requestId && { requestId }) })
    }
    waiting.wake(planned.map(({ box }) => box))
    const redacted = [...new Set([...body.kinds, ...(summary ? summary.kinds : [])])].sort()
    return { ids, redacted, ...(isRequest(kind) && requestId && { requestId }) }
  }

  const page = (address: string, { after = 0, limit = PAGE }: Reading): MailList => {
    const items: Mail[] = []
    let bytes = 0
    for (const stored of mail.waiting(boxesOf(address), after)) {
      bytes += Buffer.byteLength(stored.body)
      if (items.length === limit || (items.length > 0 && bytes > PAGE_BYTES))
        return { items, next: items.at(-1)?.id as string }
      items.push(toldOf(stored))
    }
    return { items }
  }

  return {
    // What one sender sends at once stays in the order in which it came.
    send: (letter) => inTurn(letter.from, () => post(letter)),
    read: async (address, reading) => {
      const begun = clock.elapsed()
      for (;;) {
        const found = page(address, reading)
        const leftMs = begun + reading.waitMs - clock.elapsed()
        if (found.items.length > 0 || leftMs <= 0 || reading.signal.aborted || !waiting.isOpen()) return found
        await waiting.until(boxesOf(address), leftMs, reading.signal)
      }
    },
    acknowledge: (address, ids) => ({ ids: mail.acknowledge(boxesOf(address), ids).map(String) }),
    wake: () => waiting.wake(),
    isWaitedFor: (address) => mail.count(boxesOf(address)) > 0,
    expire: () => mail.expire(clock.now() - EXPIRE_MS),
    close: waiting.close,
  }
}

function unknown(address: string): never {
  const session = address.startsWith(SESSION)
  throw new MemoryError('NOT_FOUND', session ? `nobody knows the ${address}` : `no agent is called ${address}`, {
    hint: session
      ? 'an agent registers with its session by POST /v1/agents'
      : 'an agent registers by POST /v1/agents; GET /v1/agents lists those that did',
  })
}

function toldOf({ id, at, sender, addressed, kind, body, summary, request, approve }: StoredMail): Mail {
  return {
    id: String(id),
    at: new Date(at).toISOString(),
    from: sender,
    to: addressed,
    kind: kind as MailKind,
    body,
    ...(summary !== undefined && { summary }),
    ...(request !== undefined && { requestId: request }),
    ...(approve !== undefined && { approve }),
  }
}

/** Decides whether a letter may be sent, and what becomes of it: one mail for each reader. Does no I/O. */

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

/** Those who wait for mail: woken when some comes to a box of theirs, by nothing else but their time, and when all must go. */

export type Waiting = {
  /** Resolves when something may be there, when the time is over, or when the signal aborts. */
  until(boxes: readonly string[], waitMs: number, signal: AbortSignal): Promise<void>
  /** Without boxes: everyone. */
  wake(boxes?: readonly string[]): void
  /** From now on nobody waits: a daemon that stops must not be held up by those who have nothing to read. */
  close(): void
  isOpen(): boolean
}

export function createWaiting(clock: Pick<Clock, 'after'>): Waiting {
  const waiters = new Set<{ boxes: ReadonlySet<string>; end: () => void }>()
  let open = true
  const wake: Waiting['wake'] = (boxes) => {
    for (const waiter of [...waiters])
      if (!boxes || boxes.some((box) => waiter.boxes.has(box))) {
        waiters.delete(waiter)
        waiter.end()
      }
  }
  return {
    until: (boxes, waitMs, signal) =>
      new Promise((resolve) => {
        if (!open || signal.aborted) return resolve()
        const end = () => {
          waiters.delete(waiter)
          timer.stop()
          signal.removeEventListener('abort', end)
          resolve()
        }
        const waiter = { boxes: new Set(boxes), end }
        const timer = clock.after(waitMs, end)
        signal.addEventListener('abort', end, { once: true })
        waiters.add(waiter)
      }),
    wake,
    close: () => {
      open = false
      wake()
    },
    isOpen: () => open,
  }
}

/** Mail between agents, box by box, until it is acknowledged or has expired. Decides nothing. */

export type NewMail = {
  at: number
  sender: string
  /** Whose it is. */
  box: string
  /** What the sender wrote: `*` where it went to all. */
  addressed: string
  kind: string
  body: string
  summary: string | undefined
  request: string | undefined
  approve: boolean | undefined
}
export type StoredMail = NewMail & { id: number }

/** Mail that names a request, without what it says. */
export type Named = Pick<NewMail, 'sender' | 'box' | 'kind'>

export type MailTable = {
  /** All or none: `plan` says what, and may throw. */
  addAll(plan: () => readonly NewMail[]): number[]
  /** Not acknowledged, oldest first, after the one with this id. Taken one by one: a box may hold more than memory should. */
  waiting(boxes: readonly string[], after: number): Iterable<StoredMail>
  count(boxes: readonly string[]): number
  /** Everything that names this request, acknowledged or not. */
  naming(request: string): Named[]
  /** Returns those that were not before. */
  acknowledge(boxes: readonly string[], ids: readonly number[]): number[]
  expire(beforeMs: number): number
}

type Row = Omit<StoredMail, 'summary' | 'request' | 'approve'> & {
  summary: string | null
  request: string | null
  approve: number | null
}

const IN_BOXES = 'box IN (SELECT value FROM json_each(@boxes)) AND acknowledged = 0'

export function createMailTable(db: Db): MailTable {
  const insert = db.prepare(`INSERT INTO mail (at, sender, box, addressed, kind, body, summary, request, approve)
    VALUES (@at, @sender, @box, @addressed, @kind, @body, @summary, @request, @approve)`)
  const waiting = db.prepare(
    `SELECT id, at, sender, box, addressed, kind, body, summary, request, approve FROM mail
     WHERE ${IN_BOXES} AND id > @after ORDER BY id`,
  )
  const count = db.prepare(`SELECT count(*) FROM mail WHERE ${IN_BOXES}`).pluck()
  const naming = db.prepare('SELECT sender, box, kind FROM mail WHERE request = ?')
  const acknowledge = db
    .prepare(
      `UPDATE mail SET acknowledged = 1, body = '', summary = NULL
       WHERE ${IN_BOXES} AND id IN (SELECT value FROM json_each(@ids)) RETURNING id`,
    )
    .pluck()
  const expire = db.prepare('DELETE FROM mail WHERE at < ?')
  return {
    addAll: db.transaction((plan: () => readonly NewMail[]) =>
      plan().map(({ summary = null, request = null, approve, ...mail }) =>
        Number(
          insert.run({ ...mail, summary, request, approve: approve === undefined ? null : Number(approve) })
            .lastInsertRowid,
        ),
      ),
    ),
    waiting: function* (boxes, after) {
      for (const row of waiting.iterate({ boxes: JSON.stringify(boxes), after }) as Iterable<Row>) yield fromRow(row)
    },
    count: (boxes) => count.get({ boxes: JSON.stringify(boxes) }) as number,
    naming: (request) => naming.all(request) as Named[],
    acknowledge: (boxes, ids) =>
      (acknowledge.all({ boxes: JSON.stringify(boxes), ids: JSON.stringify(ids) }) as number[]).sort((a, b) => a - b),
    expire: (beforeMs) => expire.run(beforeMs).changes,
  }
}

function fromRow({ summary, request, approve, ...row }: Row): StoredMail {
  return {
    ...row,
    summary: summary ?? undefined,
    request: request ?? undefined,
    approve: approve === null ? undefined : approve === 1,
  }
}
