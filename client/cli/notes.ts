/** `memoryd notes`. */
import { MemoryError } from '../../schema/errors.ts'
import type { StrictClient } from '../client.ts'
import type { Context } from './context.ts'
import { asPerson } from './person.ts'

export type NotesOptions = { cwd: string; harness?: string }

type Meant = { id: string; harness?: string }

export async function notes(context: Context, session: string | undefined, options: NotesOptions): Promise<void> {
  const { harness } = options
  await asPerson(context, async (client) => {
    const meant = session === undefined ? await newest(client, options) : { id: session, ...(harness && { harness }) }
    const found = await client.sessionNotes(meant)
    context.print.result({ sessionId: meant.id, ...found }, () => [
      ...(found.content === ''
        ? [`there are no notes of session ${meant.id} yet`]
        : found.content.trimEnd().split('\n')),
      ...(found.updatedAt === undefined ? [] : ['', told(found)]),
    ])
  })
}

async function newest(client: StrictClient, { cwd, harness }: NotesOptions): Promise<Meant> {
  const { items } = await client.sessions({ cwd, limit: harness === undefined ? '1' : '999' })
  const found = items.find((item) => harness === undefined || item.harness === harness)
  if (found) return { id: found.id, harness: found.harness }
  throw new MemoryError('NOT_FOUND', 'no session of this project is known', {
    hint: 'name one, or another folder with --project',
  })
}

type Told = { updatedAt?: string | undefined; source?: string | undefined; updatingSince?: string | undefined }

function told({ updatedAt = '', source, updatingSince }: Told): string {
  const by = source === 'model' ? 'by a model' : 'by rules, without a model'
  const now = updatingSince === undefined ? '' : '; they are being written anew'
  return `(written ${updatedAt.slice(0, 16).replace('T', ' ')} ${by}${now})`
}
