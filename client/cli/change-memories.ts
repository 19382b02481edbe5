/** `memoryd remember`, `forget`, `undo` and `review`. */
import { MemoryError } from '../../schema/errors.ts'
import type { MemoryType } from '../../schema/memory.ts'
import { confirm } from './confirm.ts'
import { type Context, harmless } from './context.ts'
import { asPerson } from './person.ts'
import type { Where } from './read-memories.ts'

export async function remember(
  context: Context,
  text: string,
  { cwd, type }: Where & { type?: MemoryType },
): Promise<void> {
  const done = await asPerson(context, (client) => client.remember({ cwd, text, type }))
  context.print.result(done, () => [
    done.action === 'created' ? `remembered in ${done.file} (${done.type})` : `known already: ${done.file}`,
    ...(done.redacted.length > 0 ? [`took out what looked like a credential: ${done.redacted.join(', ')}`] : []),
    ...(done.changeId ? [`take it back with: ${context.self} undo ${done.changeId}`] : []),
  ])
}

export type ForgetOptions = { reject?: boolean; purge?: boolean; yes?: boolean; rejected?: boolean; lift?: string }

/** Every backup is rewritten, however large it has become. */
const PURGE_DEADLINE_MS = 600_000

export async function forget(
  context: Context,
  file: string | undefined,
  options: ForgetOptions & Where,
): Promise<void> {
  if (options.lift !== undefined) {
    const id = options.lift
    await asPerson(context, (client) => client.liftTombstone({ id }))
    return context.print.result({ lifted: id }, () => [`what tombstone ${id} rejected may be said again`])
  }
  if (options.purge) return purge(context, file, options)
  if (options.rejected || file === undefined) return listRejected(context)
  const reject = options.reject ? 'true' : 'false'
  const done = await asPerson(context, (client) => client.forget({ cwd: options.cwd, file, reject }))
  context.print.result(done, () => [
    done.tombstoneId ? `forgot ${file}; it will not come back (tombstone ${done.tombstoneId})` : `forgot ${file}`,
    `take it back with: ${context.self} undo ${done.changeId}`,
  ])
}

async function purge(
  context: Context,
  file: string | undefined,
  { cwd, reject, yes }: ForgetOptions & Where,
): Promise<void> {
  if (file === undefined) throw new MemoryError('BAD_REQUEST', 'name the memory that is to be purged')
  const question = `Purge ${file}, with its history, out of every backup? It cannot be undone.`
  const agreed = yes ? 'yes' : await confirm(harmless(question, 'off'))
  if (agreed === 'nobody')
    throw new MemoryError('BAD_REQUEST', 'a purge cannot be undone, and there is nobody to ask', { hint: 'add --yes' })
  if (agreed === 'no') return context.print.result({ purged: null }, () => ['nothing was purged'])
  const wish = { cwd, file, reject: reject ? 'true' : 'false', purge: 'true' } as const
  const done = await asPerson(context, (client) => client.forget(wish, { deadlineMs: PURGE_DEADLINE_MS }))
  const { versions = 0, backups = 0, deleted = [] } = done.purged ?? {}
  context.print.result(done, () => [
    `purged ${file}: ${versions} kept versions are gone, ${backups} backups were rewritten; it cannot be undone`,
    ...deleted.map((copy) => `deleted ${copy}: it was damaged and held some of it`),
    ...(done.tombstoneId ? [`what it said will not come back (tombstone ${done.tombstoneId})`] : []),
    'sessions in which it was spoken of are kept by their own programs: delete those there',
  ])
}

async function listRejected(context: Context): Promise<void> {
  const { items } = await asPerson(context, (client) => client.tombstones())
  context.print.result({ items }, () =>
    items.length === 0
      ? ['nothing is rejected']
      : items.map(({ id, at, file, excerpt }) => `${id.padStart(4)}  ${at}  ${file}  ${excerpt}`),
  )
}

export async function undo(context: Context, change: string | undefined, { run }: { run?: string }): Promise<void> {
  const done = await asPerson(context, (client) =>
    run !== undefined ? client.undoRun({ id: run }) : client.undoChange({ id: change ?? '' }),
  )
  const back = done.runId === undefined ? done.changeIds[0] : `--run ${done.runId}`
  context.print.result(done, () => [`undone; take that back with: ${context.self} undo ${back}`])
}

export async function review(
  context: Context,
  decision: 'approve' | 'reject' | undefined,
  id: string | undefined,
): Promise<void> {
  if (decision !== undefined && id !== undefined) {
    const done = await asPerson(context, (client) => client.decideReview({ id, decision }))
    return context.print.result(done, () => [decision === 'approve' ? 'applied' : 'rejected; it will not come back'])
  }
  const { items } = await asPerson(context, (client) => client.reviews())
  context.print.result({ items }, () =>
    items.length === 0
      ? ['nothing waits for you']
      : items.flatMap(({ id, at, op, file, actor, reason, diff }) => [
          `${id}  ${at}  ${op} ${file} by ${actor}: ${reason}`,
          ...diff.split('\n').map((line) => `    ${line}`),
        ]),
  )
}
