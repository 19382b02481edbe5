/** Collects the ends of jobs of one kind; ready when it is returned. */
import type { StrictClient } from '../../client/index.ts'
import type { JobEvent } from '../../schema/job.ts'

const ENDS = new Set(['done', 'failed', 'killed'])

export async function jobEnds(client: StrictClient, kind: string) {
  const ended: JobEvent[] = []
  let news = () => {}
  const events = client.events()[Symbol.asyncIterator]()
  await events.next()
  const collect = async () => {
    for (let next = await events.next(); !next.done; next = await events.next()) {
      if (next.value.type === 'job' && next.value.kind === kind && ENDS.has(next.value.state)) ended.push(next.value)
      news()
    }
  }
  // The stream breaks with its daemon; what a test then misses, it waits for in vain.
  void collect().catch(() => {})
  return {
    isOver: () => ended.length > 0,
    /** The next one, with what became of it. */
    next: async () => {
      while (ended.length === 0)
        await new Promise<void>((resolve) => {
          news = resolve
        })
      const { id } = ended.shift() as JobEvent
      return client.job({ id })
    },
  }
}
