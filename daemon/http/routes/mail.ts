/** Agents on this machine, and what they write to each other. */
import type { AgentList, AgentRegistration, RegisteredAgent } from '../../../schema/agent.ts'
import type { Acknowledged, Letter, MailList, Sent } from '../../../schema/mail.ts'
import type { Handlers } from '../server.ts'

type Deps = {
  registry: { register(registration: AgentRegistration): RegisteredAgent; list(): AgentList }
  mailbox: {
    send(letter: Letter): Promise<Sent>
    read(
      address: string,
      reading: { waitMs: number; after?: number | undefined; limit?: number | undefined; signal: AbortSignal },
    ): Promise<MailList>
    acknowledge(address: string, ids: readonly number[]): Acknowledged
    wake(): void
  }
}

type Names = 'agents' | 'registerAgent' | 'sendMail' | 'mail' | 'acknowledgeMail'

export function mailRoutes({ registry, mailbox }: Deps): Pick<Handlers, Names> {
  return {
    agents: () => registry.list(),
    registerAgent: ({ body }) => {
      const registered = registry.register(body)
      mailbox.wake()
      return registered
    },
    sendMail: ({ body }) => mailbox.send(body),
    mail: ({ params, query: { wait = 0, after, limit }, signal }) =>
      mailbox.read(params.agent, { waitMs: wait * 1_000, after, limit, signal }),
    acknowledgeMail: ({ params, body }) => mailbox.acknowledge(params.agent, body.ids.map(Number)),
  }
}
