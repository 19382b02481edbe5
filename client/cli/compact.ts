/** `memoryd compact`. */
import pc from 'picocolors'
import type { Context } from './context.ts'
import { asPerson } from './person.ts'

export type CompactOptions = { harness?: string; model: string; instructions?: string }

const DEADLINE_MS = 600_000

const ways = {
  notes: 'from the notes of the session',
  full: 'written by a model',
  extractive: 'put together without a model',
}

/** Prints what the session would go on with; nothing of it is changed by that. */
export async function compact(
  context: Context,
  id: string,
  { harness, model, instructions }: CompactOptions,
): Promise<void> {
  const done = await asPerson(context, async (client) => {
    const session = await client.session({ id, ...(harness !== undefined && { harness }) })
    const asked = {
      sessionId: session.id,
      harness: session.harness,
      cwd: session.cwd ?? '/',
      model,
      trigger: 'manual' as const,
      preview: true,
      ...(instructions !== undefined && { instructions }),
    }
    return client.compact(asked, { deadlineMs: DEADLINE_MS })
  })
  const paint = pc.createColors(context.print.colour === 'on')
  context.print.result(done, () => [
    ...done.summary.split('\n').map((line) => line.replaceAll('\u001b', '\ufffd')),
    '',
    paint.dim(
      `${ways[done.strategy]}; about ${done.tokensBefore} tokens become ${done.tokensAfter}, ${done.kept} messages stay as they are`,
    ),
  ])
}
