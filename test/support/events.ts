/** The events of one kind, typed as such. */
import type { Client } from '../../client/index.ts'
import type { Event, StatusEvent } from '../../schema/event.ts'

export async function* statusEvents(client: Pick<Client, 'events'>): AsyncGenerator<StatusEvent> {
  for await (const event of client.events()) if (event.type === 'status') yield event
}

export type SavedEvent = Extract<Event, { type: 'saved' }>

/** Collects what was saved; `until` waits for it. Ready when it is returned: nothing that happens later is missed. */
export async function savedEvents(client: Pick<Client, 'events'>) {
  const saved: SavedEvent[] = []
  let news = () => {}
  const events = client.events()[Symbol.asyncIterator]()
  await events.next()
  const collect = async () => {
    for (let next = await events.next(); !next.done; next = await events.next()) {
      if (next.value.type === 'saved') saved.push(next.value)
      news()
    }
  }
  // The stream breaks with its daemon; what a test then misses, it waits for in vain.
  void collect().catch(() => {})
  return {
    saved,
    /** Waits until these files were saved by others, in one or more events. */
    until: async (...files: string[]) => {
      const missing = () => {
        const theirs = saved.filter(({ actor }) => actor === 'external').flatMap((event) => event.files)
        return files.some((file) => !theirs.includes(file))
      }
      while (missing())
        await new Promise<void>((resolve) => {
          news = resolve
        })
      return saved.splice(0)
    },
  }
}
