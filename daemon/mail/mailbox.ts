/**
 * Mail between agents: kept before its sender is answered, read in the order in which it came, and given again until its
 * reader acknowledges it. What stands in it is logged nowhere.
 */
import { randomUUID } from 'node:crypto'
import { MemoryError } from '../../schema/errors.ts'
import type { Acknowledged, Letter, Mail, MailKind, MailList, Sent } from '../../schema/mail.ts'
import type { Clock } from '../platform/clock.ts'
import { createInTurn } from '../platform/in-turn.ts'
import type { MailTable, StoredMail } from './mail-table.ts'
import { checkLetter, isRequest, planMail, type Reader } from './posting.ts'
import { type Registry, SESSION } from './registry.ts'
import { createWaiting } from './waiting.ts'

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
