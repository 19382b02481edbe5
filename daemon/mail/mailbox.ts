/** Mail between agents: kept before its sender is answered, returned until acknowledged. No body is ever logged. */
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
import type { Core } from '../core.ts'
import type { Db } from '../db/database.ts'
import { createInTurn } from '../platform/queue.ts'
import { redact } from '../secrets/redact.ts'
import { type Registry, SESSION } from './registry.ts'

export type Reading = { waitMs: number; after?: number | undefined; limit?: number | undefined; signal: AbortSignal }

type Reader = { box: string; boxes: readonly string[]; waiting: number }

const ANSWERS: Partial<Record<MailKind, MailKind>> = {
  shutdown_response: 'shutdown_request',
  plan_approval_response: 'plan_approval_request',
}
const REQUESTS: readonly (MailKind | undefined)[] = Object.values(ANSWERS)
const isRequest = (kind: MailKind) => REQUESTS.includes(kind)

export const EXPIRE_MS = 7 * 86_400_000
/** Of mail that has not been acknowledged, for each reader. */
const MOST_WAITING = 1_000
const PAGE = 100
/** Of bodies in one answer; the first always fits. */
const PAGE_BYTES = 1_000_000

export function createMailbox({ db, clock, events }: Core, registry: Registry) {
  const mail = createMailTable(db.history)
  const inTurn = createInTurn()
  const waiters = new Set<{ boxes: ReadonlySet<string>; end: () => void }>()
  let isOpen = true

  const boxesOf = (address: string) => registry.boxesOf(address) ?? throwUnknown(address)
  const readerOf = (address: string): Reader => {
    const boxes = boxesOf(address)
    return { box: boxes[0], boxes, waiting: mail.count(boxes) }
  }
  const readersOf = ({ from, to }: Letter): Reader[] => {
    if (to !== '*') return [readerOf(to)]
    const isSender = (name: string, session: string) => name === from || SESSION + session === from
    return registry.alive().flatMap(({ name, session }) => (isSender(name, session) ? [] : [readerOf(name)]))
  }

  const wake = (boxes?: readonly string[]): void => {
    for (const waiter of [...waiters])
      if (!boxes || boxes.some((box) => waiter.boxes.has(box))) {
        waiters.delete(waiter)
        waiter.end()
      }
  }
  const untilWoken = (boxes: readonly string[], waitMs: number, signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      if (!isOpen || signal.aborted) return resolve()
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
    })

  const send = async (sent: Letter): Promise<Sent> => {
    checkLetter(sent)
    const made = isRequest(sent.kind) && sent.requestId === undefined ? { requestId: randomUUID() } : {}
    const [body, summary] = await Promise.all([redact(sent.body), sent.summary && redact(sent.summary)])
    const letter: Letter = { ...sent, ...made, body: body.text, ...(summary && { summary: summary.text }) }
    const { from, kind, requestId } = letter
    // Checked and added in one transaction: the same request may be sent twice at once.
    const { ids, boxes } = mail.transaction(() => {
      const readers = readersOf(letter)
      if (requestId !== undefined) {
        const named = mail.naming(requestId)
        if (isRequest(kind)) refuseRepeated(letter, readers, named)
        else refuseUnasked(letter, readers[0]?.boxes ?? [], registry.boxesOf(from) ?? [from], named)
      }
      refuseFull(readers)
      const boxes = readers.map(({ box }) => box)
      return { ids: boxes.map((box) => mail.add(letter, box, clock.now())), boxes }
    })
    for (const [n, to] of boxes.entries()) {
      const sessionId = registry.sessionOf(to)
      const id = ids[n] as string
      const about = { ...(sessionId && { sessionId }), ...(requestId && { requestId }) }
      events.publish({ type: 'mail', id, from, to, kind, ...about })
    }
    wake(boxes)
    const redacted = [...new Set([...body.kinds, ...(summary ? summary.kinds : [])])].sort()
    return { ids, redacted, ...(isRequest(kind) && requestId && { requestId }) }
  }

  const page = (address: string, { after = 0, limit = PAGE }: Reading): MailList => {
    const items: Mail[] = []
    let bytes = 0
    for (const each of mail.waiting(boxesOf(address), after)) {
      bytes += Buffer.byteLength(each.body)
      if (items.length === limit || (items.length > 0 && bytes > PAGE_BYTES))
        return { items, next: items.at(-1)?.id as string }
      items.push(each)
    }
    return { items }
  }

  return {
    // In turn: what one sender sends at once stays in its order.
    send: (letter: Letter) => inTurn(letter.from, () => send(letter)),
    read: async (address: string, reading: Reading): Promise<MailList> => {
      const begunMs = clock.elapsed()
      for (;;) {
        const found = page(address, reading)
        const leftMs = begunMs + reading.waitMs - clock.elapsed()
        if (found.items.length > 0 || leftMs <= 0 || reading.signal.aborted || !isOpen) return found
        await untilWoken(boxesOf(address), leftMs, reading.signal)
      }
    },
    acknowledge: (address: string, ids: readonly number[]): Acknowledged => ({
      ids: mail.acknowledge(boxesOf(address), ids).map(String),
    }),
    wake: () => wake(),
    hasMail: (address: string) => mail.count(boxesOf(address)) > 0,
    expire: (): number => mail.expire(clock.now() - EXPIRE_MS),
    /** Answers all who wait, and lets none wait any more: they would hold up a daemon that stops. */
    close: () => {
      isOpen = false
      wake()
    },
  }
}

function checkLetter({ kind, to, body, requestId, approve }: Letter): void {
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

function refuseFull(readers: readonly Reader[]): void {
  const full = readers.filter(({ waiting }) => waiting >= MOST_WAITING).map(({ box }) => box)
  if (full.length === 0) return
  throw new MemoryError('CONFLICT', `${full.join(', ')}: ${MOST_WAITING} mails wait there already; nothing was sent`, {
    hint: 'try again once some were read, or write to those who read theirs',
    details: { full },
  })
}

/** A sender who got no answer learns from it that the first one had arrived. */
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
  const exists = (wanted: string | undefined, senders: readonly string[], receivers: readonly string[]) =>
    named.some((mail) => mail.kind === wanted && senders.includes(mail.sender) && receivers.includes(mail.box))
  if (!exists(asked, askerBoxes, answererBoxes))
    throw new MemoryError('REFUSED', `there is no ${asked} with the id ${requestId} from ${to} to ${from}`, {
      reason: 'shape',
      hint: 'answer with the requestId of the mail, to the one it is from',
    })
  if (exists(kind, answererBoxes, askerBoxes))
    throw new MemoryError('CONFLICT', `${from} has answered the ${asked} ${requestId} already`, {
      hint: 'an answer is final; say more in a text',
    })
}

function throwUnknown(address: string): never {
  const isSession = address.startsWith(SESSION)
  throw new MemoryError('NOT_FOUND', isSession ? `there is no ${address}` : `no agent is called ${address}`, {
    hint: isSession
      ? 'an agent registers with its session by POST /v1/agents'
      : 'an agent registers by POST /v1/agents; GET /v1/agents lists those that did',
  })
}

type Named = { sender: string; box: string; kind: string }

type Row = Pick<Mail, 'from' | 'to' | 'kind' | 'body'> & {
  id: number
  at: number
  summary: string | null
  requestId: string | null
  approve: number | null
}

const IN_BOXES = 'box IN (SELECT value FROM json_each(@boxes)) AND acknowledged = 0'

/** `box`: whose it is; `addressed`: what the sender wrote, `*` where it went to all. */
function createMailTable(db: Db) {
  const insert = db.prepare(`INSERT INTO mail (at, sender, box, addressed, kind, body, summary, request, approve)
    VALUES (@at, @from, @box, @to, @kind, @body, @summary, @requestId, @approve)`)
  const waiting = db.prepare(
    `SELECT id, at, sender AS "from", addressed AS "to", kind, body, summary, request AS requestId, approve FROM mail
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
    transaction: <T>(work: () => T): T => db.transaction(work)(),
    add: (letter: Letter, box: string, at: number): string => {
      const { summary = null, requestId = null } = letter
      const approve = letter.approve === undefined ? null : Number(letter.approve)
      return String(insert.run({ ...letter, at, box, summary, requestId, approve }).lastInsertRowid)
    },
    /** Not acknowledged, oldest first, after the one with this id. Read one by one: a box may hold more than memory should. */
    waiting: function* (boxes: readonly string[], after: number) {
      for (const row of waiting.iterate({ boxes: JSON.stringify(boxes), after }) as Iterable<Row>) yield mailOf(row)
    },
    count: (boxes: readonly string[]) => count.get({ boxes: JSON.stringify(boxes) }) as number,
    naming: (request: string) => naming.all(request) as Named[],
    acknowledge: (boxes: readonly string[], ids: readonly number[]) =>
      (acknowledge.all({ boxes: JSON.stringify(boxes), ids: JSON.stringify(ids) }) as number[]).sort((a, b) => a - b),
    expire: (beforeMs: number) => expire.run(beforeMs).changes,
  }
}

function mailOf({ id, at, summary, requestId, approve, ...sent }: Row): Mail {
  return {
    id: String(id),
    at: new Date(at).toISOString(),
    ...sent,
    ...(summary !== null && { summary }),
    ...(requestId !== null && { requestId }),
    ...(approve !== null && { approve: approve === 1 }),
  }
}
