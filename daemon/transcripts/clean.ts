/**
 * Takes credentials out of all that is kept of a transcript: texts, names and folders. A name with one in it is kept as a
 * hash: two of them must not become the same.
 */
import { hash } from 'node:crypto'
import { redactSoon } from '../secrets/redact.ts'
import type { Ended, Known, Session } from './digest.ts'
import { present } from './formats/fields.ts'
import type { MessageStep, Step } from './transcript-table.ts'

/** At once where that can be: to wait for each of a hundred thousand names and texts takes longer than to look at them. */
type Soon<T> = T | Promise<T>

export function clean(text: string): Soon<string> {
  return text === '' ? '' : whenever(redactSoon(text), (redacted) => redacted.text)
}

function whenever<A, B>(answer: Soon<A>, then: (answer: A) => B): Soon<B> {
  return answer instanceof Promise ? answer.then(then) : then(answer)
}

/** Names that cannot hold one are the rule, and to look at each would cost more than all the rest. */
const HARMLESS = new RegExp(
  `^(?:${[
    '(?:[a-z]{1,12}[_-])?[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}',
    '[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}[.-][\\da-z]{1,4}',
    '[\\w.-]{1,11}',
    '[\\da-f]{12,64}',
    '(?:msg|req|resp|call|toolu|item|fc|rs)_[A-Za-z0-9]{8,48}',
  ].join('|')})$`,
)

function isHarmless(name: string): boolean {
  return name === '' || HARMLESS.test(name)
}

export function cleanName(name: string): Soon<string> {
  if (isHarmless(name)) return name
  return whenever(redactSoon(name), ({ text }) => (text === name ? name : hash('sha256', name, 'hex')))
}

/** Each name in it by itself as well: beside a slash not every credential is recognised. */
export async function pathHasSecret(path: string): Promise<boolean> {
  const views = [path, path.split('/').join('\n')]
  for (const view of views) if ((await redactSoon(view)).text !== view) return true
  return false
}

/** A session has one name, one folder and few branches, in each of its lines. */
const MOST_KNOWN = 2_000

/** Remembers what it has looked at lately. */
export function createCleaner() {
  const looked = lately(cleanName)
  // Ids of messages come once: to remember them would cost more than to look at them.
  const name = (text: string) => (isHarmless(text) ? text : looked(text))
  const hasSecret = lately(pathHasSecret)
  const named = (text: string | undefined) => (text === undefined ? undefined : name(text))
  /** A folder with a credential in its path is not kept, and neither is its project. */
  const folder = async (path: string | undefined) => (path === undefined || (await hasSecret(path)) ? undefined : path)

  const sessionRow = async (session: MessageStep['session']): Promise<MessageStep['session']> => {
    const cwd = await folder(session.cwd)
    return {
      ...session,
      id: await name(session.id),
      forkOf: await named(session.forkOf),
      branch: await named(session.branch),
      cwd,
      project: cwd === undefined ? undefined : await folder(session.project),
    }
  }

  let last: { given: MessageStep['session']; cleaned: MessageStep['session'] } | undefined
  const rowOf = (given: MessageStep['session']): Soon<MessageStep['session']> => {
    if (last?.given === given) return last.cleaned
    return sessionRow(given).then((cleaned) => {
      last = { given, cleaned }
      return cleaned
    })
  }

  const message = (step: MessageStep): Soon<MessageStep> => {
    const session = rowOf(step.session)
    const id = 'id' in step.name ? name(step.name.id) : undefined
    const subAgent = name(step.subAgent)
    const answerId = named(step.answerId)
    const text = clean(step.text)
    const isNow =
      !(session instanceof Promise || id instanceof Promise || subAgent instanceof Promise) &&
      !(answerId instanceof Promise || text instanceof Promise)
    if (isNow) return { ...step, session, name: id === undefined ? step.name : { id }, subAgent, answerId, text }
    return Promise.all([session, id, subAgent, answerId, text]).then(([session, id, subAgent, answerId, text]) => ({
      ...step,
      session,
      name: id === undefined ? step.name : { id },
      subAgent,
      answerId,
      text,
    }))
  }

  return {
    hasSecret: async (path: string) => hasSecret(path),
    step: (step: Step): Soon<Step> => {
      if (step.kind === 'message') return message(step)
      return 'from' in step ? whenever(name(step.from), (from) => ({ ...step, from })) : step
    },
    known: async ({ session, ended, last, ...rest }: Known): Promise<Known> => ({
      session: present<Session>({
        ...session,
        sessionId: await named(session.sessionId),
        subAgent: await named(session.subAgent),
        forkOf: await named(session.forkOf),
        branch: await named(session.branch),
        model: await named(session.model),
        cwd: await folder(session.cwd),
      }),
      ...rest,
      ...(last !== undefined && { last: await name(last) }),
      ...(ended && {
        ended: present<Ended>({ ...ended, sessionId: await name(ended.sessionId), cwd: await folder(ended.cwd) }),
      }),
    }),
  }
}

function lately<T>(ask: (text: string) => Soon<T>): (text: string) => Soon<T> {
  const known = new Map<string, T>()
  return (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    return whenever(ask(text), (answer) => {
      if (known.size >= MOST_KNOWN) known.clear()
      known.set(text, answer)
      return answer
    })
  }
}
