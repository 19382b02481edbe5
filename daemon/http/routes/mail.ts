/** Agents on this machine over HTTP: who is there, what they write to each other, and memories of sub-agents. */
import type { Purges } from '../../housekeeping/purge.ts'
import type { MailService } from '../../mail/mail.ts'
import type { Memory } from '../../memory/memory.ts'
import { routeFile } from '../request.ts'

export const mailRoutes = (mail: MailService, memory: Memory, purges: Purges) =>
  routeFile(async () => (await import('../../../schema/mail.ts')).mailRoutes, {
    agents: () => mail.agents(),
    registerAgent: ({ body }) => mail.register(body),
    sendMail: ({ body }) => mail.send(body),
    mail: ({ params, query: { wait = 0, after, limit }, signal }) =>
      mail.read(params.agent, { waitMs: wait * 1_000, after, limit, signal }),
    acknowledgeMail: ({ params, body }) => mail.acknowledge(params.agent, body.ids.map(Number)),
    agentMemory: ({ params: { type }, query: { cwd, scope }, caller }) =>
      memory.prompting.agentPrompt(cwd, caller, { type, scope }),
    agentMemoryFile: ({ params: { type, file }, query: { cwd, scope }, caller }) =>
      memory.reading.get(cwd, caller, file, undefined, { type, scope }),
    putAgentMemory: ({ params: { type, file }, query: { cwd, scope }, body, caller }) => {
      const { content, ifHash, reason = 'written' } = body
      return memory.ofAgent({ type, scope }).put(cwd, caller, { file, content, expect: ifHash }, reason)
    },
    forgetAgentMemory: ({ params: { type, file }, query, caller }) => {
      const { cwd, scope, reject = false, purge = false, ifHash } = query
      const writing = memory.ofAgent({ type, scope })
      return purge
        ? purges.purge(writing.dirOf(cwd, caller), caller, file, { reject, ifHash })
        : writing.forget(cwd, caller, file, { reject, ifHash })
    },
  })
