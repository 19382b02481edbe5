/** Credentials out of all that is stored of a slice: texts, names and folders. Remembers what it has looked at lately. */

import { clean, cleanName, isHarmless, pathHasSecret, type Redact, type Soon, whenever } from './clean.ts'
import type { Ended, Known } from './digest.ts'
import { present } from './fields.ts'
import type { Session } from './session.ts'
import type { MessageStep, Step } from './transcript-table.ts'

export type Cleaner = {
  step(step: Step): Soon<Step>
  known(known: Known): Promise<Known>
  hasSecret(path: string): Promise<boolean>
}

/** A session has one name, one folder and few branches, in each of its lines. */
const MOST_KNOWN = 2_000

export function createCleaner(redact: Redact): Cleaner {
  const looked = lately((text: string) => cleanName(text, redact))
  // Ids of messages come once: to remember them would cost more than to look at them.
  const name = (text: string) => (isHarmless(text) ? text : looked(text))
  const hasSecret = lately((path: string) => pathHasSecret(path, redact))
  const named = (text: string | undefined) => (text === undefined ? undefined : name(text))
  /** A folder that cannot be told is none: its project could not be told either. */
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
    const text = clean(step.text, redact)
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
    hasSecret: async (path) => hasSecret(path),
    step: (step) => {
      if (step.kind === 'message') return message(step)
      return 'from' in step ? whenever(name(step.from), (from) => ({ ...step, from })) : step
    },
    known: async ({ session, ended, last, ...rest }) => ({
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
