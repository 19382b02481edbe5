/** Credentials out of all that is stored of a slice: texts, names and folders. Remembers what it has looked at lately. */
import type { MessageStep, Step } from '../store/transcripts.ts'
import { clean, cleanName, pathHasSecret, type Redact } from './clean.ts'
import type { Ended, Known } from './digest.ts'
import { present } from './fields.ts'
import type { Session } from './session.ts'

export type Cleaner = {
  step(step: Step): Promise<Step>
  known(known: Known): Promise<Known>
  hasSecret(path: string): Promise<boolean>
}

/** A session has one name, one folder and few branches, in each of its lines. */
const MOST_KNOWN = 2_000

export function createCleaner(redact: Redact): Cleaner {
  const name = lately((text: string) => cleanName(text, redact))
  const hasSecret = lately((path: string) => pathHasSecret(path, redact))
  const named = async (text: string | undefined) => (text === undefined ? undefined : name(text))
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
  const rowOf = async (given: MessageStep['session']) => {
    if (last?.given !== given) last = { given, cleaned: await sessionRow(given) }
    return last.cleaned
  }

  return {
    hasSecret,
    step: async (step) => {
      if (step.kind === 'rewound') return 'from' in step ? { ...step, from: await name(step.from) } : step
      return {
        ...step,
        session: await rowOf(step.session),
        name: 'id' in step.name ? { id: await name(step.name.id) } : step.name,
        subAgent: await name(step.subAgent),
        answerId: await named(step.answerId),
        text: await clean(step.text, redact),
      }
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

function lately<T>(ask: (text: string) => Promise<T>): (text: string) => Promise<T> {
  const known = new Map<string, T>()
  return async (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    const answer = await ask(text)
    if (known.size >= MOST_KNOWN) known.clear()
    known.set(text, answer)
    return answer
  }
}
