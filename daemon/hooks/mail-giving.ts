/**
 * Gives a session its mail, one hook at a time: harnesses run hooks side by side, and the model is to be told once. What a hook
 * brought counts as read when it was taken, and comes again when it was not.
 */
import type { Clock } from '../platform/clock.ts'
import type { Part } from './fitting.ts'
import type { SessionName } from './hook.ts'
import { type Letter, mailPart, type Told } from './mail-part.ts'

type Deps = {
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

export function createMailGiving({ mailFor, acknowledge, mark, clock }: Deps) {
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
