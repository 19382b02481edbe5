/** Agents and their mail on a real database, with time that stands still and processes that live by decree. */
import { onTestFinished } from 'vitest'
import { openDatabases } from '../../daemon/db/databases.ts'
import { createMailbox, createMailTable } from '../../daemon/mail/mailbox.ts'
import { createAgentTable, createRegistry } from '../../daemon/mail/registry.ts'
import { AgentRegistration } from '../../schema/agent.ts'
import { Letter } from '../../schema/mail.ts'
import { manualTime } from '../support/clock.ts'
import { makeHome } from '../support/home.ts'

export function company() {
  const home = makeHome()
  const time = manualTime()
  const store = openDatabases(home.places.stateDir, time.clock.now())
  onTestFinished(() => store.close())
  const dead = new Set<number>()
  const news: object[] = []
  const registry = createRegistry({
    agents: createAgentTable(store.history),
    processes: { birthOf: (pid) => `born-${pid}`, isAlive: (pid) => !dead.has(pid) },
    clock: time.clock,
    isSession: (id) => id === 'known-by-its-transcript',
    summaryOf: () => undefined,
  })
  const mailbox = createMailbox({
    mail: createMailTable(store.history),
    registry,
    clock: time.clock,
    redact: async (text) => ({ text: text.replaceAll('hunter2', '[x]'), kinds: text.includes('hunter2') ? ['x'] : [] }),
    onMail: (mail) => news.push(mail),
  })
  const patient = new AbortController().signal
  let pids = 100
  return {
    ...time,
    store,
    dead,
    news,
    registry,
    mailbox,
    join: (name: string, more: object = {}) =>
      registry.register(AgentRegistration.parse({ name, sessionId: `s-${name}`, cwd: '/', pid: ++pids, ...more })),
    send: (letter: object) => mailbox.send(Letter.parse({ body: 'x', ...letter })),
    read: (
      address: string,
      waitSeconds = 0,
      signal: AbortSignal = patient,
      more: { limit?: number; after?: number } = {},
    ) => mailbox.read(address, { waitMs: waitSeconds * 1_000, signal, ...more }),
    bodies: async (address: string) =>
      (await mailbox.read(address, { waitMs: 0, signal: patient, limit: 999 })).items.map(({ body }) => body),
  }
}
