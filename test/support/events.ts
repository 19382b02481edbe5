/** The events of one kind, typed as such. */
import type { Client } from '../../client/index.ts'
import type { Event, StatusEvent } from '../../schema/event.ts'

export async function* statusEvents(client: Pick<Client, 'events'>): AsyncGenerator<StatusEvent> {
  for await (const event of client.events()) if (event.type === 'status') yield event
}

type Of<Type extends Event['type']> = Extract<Event, { type: Type }>

/** Collects the events of one type, from now on: ready when it is returned, so that nothing that happens later is missed. */
export async function collectEvents<Type extends Event['type']>(client: Pick<Client, 'events'>, type: Type) {
  const seen: Of<Type>[] = []
  let news = () => {}
  const events = client.events()[Symbol.asyncIterator]()
  await events.next()
  const collect = async () => {
    for (let next = await events.next(); !next.done; next = await events.next()) {
      if (next.value.type === type) seen.push(next.value as Of<Type>)
      news()
    }
  }
  // The stream breaks with its daemon; what a test then misses, it waits for in vain.
  void collect().catch(() => {})
  return {
    seen,
    until: async (isThere: (seen: readonly Of<Type>[]) => boolean) => {
      while (!isThere(seen))
        await new Promise<void>((resolve) => {
          news = resolve
        })
    },
  }
}

export async function savedEvents(client: Pick<Client, 'events'>) {
  const { seen, until } = await collectEvents(client, 'saved')
  return {
    saved: seen,
    /** Waits until these files were saved by others, in one or more events, and takes them. */
    until: async (...files: string[]) => {
      await until((saved) => {
        const theirs = saved.filter(({ actor }) => actor === 'external').flatMap((event) => event.files)
        return files.every((file) => theirs.includes(file))
      })
      return seen.splice(0)
    },
  }
}
