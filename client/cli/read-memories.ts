/** `memoryd list`, `show`, `why` and `history`. */
import type { MemoryType } from '../../schema/memory.ts'
import type { Context } from './context.ts'
import { asked } from './numbers.ts'
import { asPerson } from './person.ts'

export type Where = { cwd: string }

export type ListOptions = { type?: MemoryType; search?: string }

export async function list(context: Context, { cwd, type, search }: Where & ListOptions): Promise<void> {
  const found = await asPerson(context, (client) => client.memories({ cwd, type, q: search }))
  context.print.result(found, () => {
    if (found.skipped) return ['memory is off here']
    if (found.items.length === 0)
      return [search === undefined ? `no memories yet in ${found.dir}` : `no memory says anything of: ${search}`]
    return [
      ...found.items.map(
        ({ file, type, description }) => `${(type ?? '?').padEnd(9)} ${inOneLine(file)}  ${description ?? ''}`,
      ),
      ...(found.older > 0 ? [`and ${found.older} older`] : []),
    ]
  })
}

/** A file may have a line break in its name; a list must not be made to say more than there is. */
function inOneLine(file: string): string {
  return file.replace(/[\r\n]/g, '\ufffd')
}

export async function show(context: Context, file: string, { cwd, at }: Where & { at?: string }): Promise<void> {
  const then = at === undefined ? undefined : new Date(at).toISOString()
  const memory = await asPerson(context, (client) => client.memory({ cwd, file, at: then }))
  context.print.result(memory, () => memory.content.replace(/\n$/, '').split('\n'))
}

/** What a memory rests on, and who wrote it last. */
export async function why(context: Context, file: string, { cwd }: Where): Promise<void> {
  const { evidence, changes } = await asPerson(context, async (client) => ({
    evidence: (await client.memory({ cwd, file })).evidence,
    changes: (await client.changes({ cwd, file, limit: '20' })).items,
  }))
  context.print.result({ file, evidence, changes }, () => [
    ...changes.map(({ at, op, actor, reason }) => `${at}  ${op} by ${actor}: ${reason}`),
    ...evidence.map(({ at, sessionId, excerpt }) => `${at}  session ${sessionId}: ${excerpt}`),
    ...(evidence.length === 0 ? ['it rests on nothing that was said in a session: somebody wrote it'] : []),
  ])
}

export async function history(
  context: Context,
  file: string | undefined,
  { cwd, lines }: Where & { lines: number },
): Promise<void> {
  const limit = asked(lines)
  const { items } = await asPerson(context, (client) => client.changes({ cwd, file, limit }))
  context.print.result({ items }, () =>
    items.length === 0
      ? ['nothing has happened here yet']
      : items.map(
          ({ id, at, op, file, actor, reason }) =>
            `${id.padStart(5)}  ${at}  ${op.padEnd(7)} ${inOneLine(file)}  ${actor}: ${reason}`,
        ),
  )
}
