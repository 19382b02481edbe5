/** The events of one kind, typed as such. */
import type { Client } from '../../client/index.ts'
import type { StatusEvent } from '../../schema/event.ts'

export async function* statusEvents(client: Pick<Client, 'events'>): AsyncGenerator<StatusEvent> {
  for await (const event of client.events()) if (event.type === 'status') yield event
}
