/** Agents and their mail on a real core, with processes that live as long as the test says. */

import { createJobs } from '../../daemon/jobs/jobs.ts'
import { createMailbox } from '../../daemon/mail/mailbox.ts'
import { createRegistry } from '../../daemon/mail/registry.ts'
import { createModels } from '../../daemon/models/models.ts'
import { createProjects } from '../../daemon/projects/projects.ts'
import { createSessions } from '../../daemon/sessions/sessions.ts'
import { createTranscriptReader } from '../../daemon/transcripts/transcript-reader.ts'
import { AgentRegistration, Letter } from '../../schema/mail.ts'
import { testCore } from '../support/core.ts'

export async function mailRig() {
  const { core, time } = await testCore()
  const index = core.db.index()
  const projects = createProjects(core)
  index.prepare("INSERT INTO sessions (harness, session) VALUES ('codex', 'known-by-its-transcript')").run()
  const dead = new Set<number>()
  const news: object[] = []
  core.events.subscribe((event) => {
    const { at: _at, seq: _seq, type, ...mail } = event as unknown as Record<string, unknown>
    if (type === 'mail') news.push(mail)
  })
  const processes = { birthOf: (pid: number) => `born-${pid}`, isAlive: (pid: number) => !dead.has(pid) }
  const registry = createRegistry(
    core,
    createSessions(core, projects, createTranscriptReader(core, projects, createJobs(core, createModels(core)))),
    processes,
  )
  const mailbox = createMailbox(core, registry)
  const patient = new AbortController().signal
  let pids = 100
  return {
    pass: time.pass,
    db: core.db,
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
