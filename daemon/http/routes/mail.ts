/** Agents on this machine, and what they write to each other. */
import type { MailService } from '../../mail/mail.ts'
import type { Handlers } from '../server.ts'

type Names = 'agents' | 'registerAgent' | 'sendMail' | 'mail' | 'acknowledgeMail'

export function mailRoutes(mail: MailService): Pick<Handlers, Names> {
  return {
    agents: () => mail.agents(),
    registerAgent: ({ body }) => mail.register(body),
    sendMail: ({ body }) => mail.send(body),
    mail: ({ params, query: { wait = 0, after, limit }, signal }) =>
      mail.read(params.agent, { waitMs: wait * 1_000, after, limit, signal }),
    acknowledgeMail: ({ params, body }) => mail.acknowledge(params.agent, body.ids.map(Number)),
  }
}
