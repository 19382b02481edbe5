/** The commands that show and change memories: list, show, why, history, remember, forget, undo, review and edit. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { MemoryError } from '../../schema/errors.ts'
import type { MemoryType } from '../../schema/values.ts'
import { asked, asUser, type Context, confirm, harmless, inOneLine, isNumber, wrongUsage } from './context.ts'

export type Where = { cwd: string }

type ListOptions = Where & { type?: MemoryType; search?: string }

export async function list(context: Context, { cwd, type, search }: ListOptions): Promise<void> {
  const found = await asUser(context, (client) => client.memories({ cwd, type, q: search }))
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

export async function show(context: Context, file: string, { cwd, at }: Where & { at?: string }): Promise<void> {
  const then = at === undefined ? undefined : new Date(at).toISOString()
  const memory = await asUser(context, (client) => client.memory({ cwd, file, at: then }))
  context.print.result(memory, () => memory.content.replace(/\n$/, '').split('\n'))
}

export async function why(context: Context, file: string, { cwd }: Where): Promise<void> {
  const { evidence, changes } = await asUser(context, async (client) => ({
    evidence: (await client.memory({ cwd, file })).evidence,
    changes: (await client.changes({ cwd, file, limit: '20' })).items,
  }))
  context.print.result({ file, evidence, changes }, () => [
    ...changes.map(({ at, op, actor, reason }) => `${at}  ${op} by ${actor}: ${reason}`),
    ...evidence.map(({ at, sessionId, excerpt }) => `${at}  session ${sessionId}: ${excerpt}`),
    ...(evidence.length === 0 ? ['no session is recorded as its source; see who wrote it above'] : []),
  ])
}

export async function history(context: Context, file: string | undefined, options: Where & { lines: number }) {
  const { cwd, lines } = options
  const limit = asked(lines)
  const { items } = await asUser(context, (client) => client.changes({ cwd, file, limit }))
  context.print.result({ items }, () =>
    items.length === 0
      ? file === undefined
        ? ['nothing has happened here yet']
        : [`nothing has happened to ${file}`, `run: ${context.self} list`]
      : items.map(
          ({ id, at, op, file, actor, reason }) =>
            `${id.padStart(5)}  ${at}  ${op.padEnd(7)} ${inOneLine(file)}  ${actor}: ${reason}`,
        ),
  )
}

export async function remember(context: Context, words: string[], options: Where & { type?: MemoryType }) {
  const { cwd, type } = options
  const done = await asUser(context, (client) => client.remember({ cwd, text: words.join(' '), type }))
  context.print.result(done, () => [
    done.action === 'created' ? `remembered in ${done.file} (${done.type})` : `known already: ${done.file}`,
    ...(done.redacted.length > 0 ? [`took out what looked like a credential: ${done.redacted.join(', ')}`] : []),
    ...(done.changeId ? [`take it back with: ${context.self} undo ${done.changeId}`] : []),
  ])
}

type ForgetOptions = Where & { reject?: boolean; purge?: boolean; yes?: boolean; rejected?: boolean; lift?: string }

/** A large history.db takes long: backups are deleted and a new one is made. */
const PURGE_DEADLINE_MS = 600_000

export async function forget(context: Context, file: string | undefined, options: ForgetOptions): Promise<void> {
  if (options.lift !== undefined) {
    const id = options.lift
    if (!isNumber(id)) throw wrongUsage(`${id} is not the number of a rejection`, 'run: memoryd forget --rejected')
    await asUser(context, (client) => client.liftTombstone({ id }))
    return context.print.result({ lifted: id }, () => [`what tombstone ${id} rejected may be said again`])
  }
  if (options.rejected) return listRejected(context)
  if (file === undefined) throw wrongUsage('name a memory', 'run: memoryd list')
  if (options.purge) return purge(context, file, options)
  const reject = options.reject ? 'true' : 'false'
  const done = await asUser(context, (client) => client.forget({ cwd: options.cwd, file, reject }))
  context.print.result(done, () => [
    done.tombstoneId ? `forgot ${file}; it will not come back (tombstone ${done.tombstoneId})` : `forgot ${file}`,
    `take it back with: ${context.self} undo ${done.changeId}`,
  ])
}

async function purge(context: Context, file: string, options: ForgetOptions): Promise<void> {
  const { cwd, reject, yes } = options
  const question = `Purge ${file}, with its history, out of every backup? It cannot be undone.`
  const agreed = yes ? 'yes' : await confirm(harmless(question, 'off'))
  if (agreed === 'no-terminal')
    throw wrongUsage('a purge cannot be undone, and there is no terminal to ask at', 'add --yes')
  if (agreed === 'no') return context.print.result({ purged: null }, () => ['nothing was purged'])
  const input = { cwd, file, reject: reject ? 'true' : 'false', purge: 'true' } as const
  const done = await asUser(context, (client) => client.forget(input, { deadlineMs: PURGE_DEADLINE_MS }))
  const { versions = 0, backups = 0, deleted = [] } = done.purged ?? {}
  context.print.result(done, () => [
    `purged ${file}: ${versions} kept versions are gone, ${backups} backups were deleted; it cannot be undone`,
    ...deleted.map((copy) => `deleted ${copy}: it held some of it, or could not be read`),
    ...(done.tombstoneId ? [`what it said will not come back (tombstone ${done.tombstoneId})`] : []),
    'sessions in which it was spoken of are kept by their own programs: delete those there',
  ])
}

async function listRejected(context: Context): Promise<void> {
  const { items } = await asUser(context, (client) => client.tombstones())
  context.print.result({ items }, () =>
    items.length === 0
      ? ['nothing is rejected']
      : items.map(({ id, at, file, excerpt }) => `${id.padStart(4)}  ${at}  ${file}  ${excerpt}`),
  )
}

export async function undo(context: Context, change: string | undefined, run: string | undefined): Promise<void> {
  const done = await asUser(context, (client) =>
    run !== undefined ? client.undoRun({ id: run }) : client.undoChange({ id: change ?? '' }),
  )
  const back = done.runId === undefined ? done.changeIds[0] : `--run ${done.runId}`
  context.print.result(done, () => [`undone; take that back with: ${context.self} undo ${back}`])
}

export async function review(context: Context, decision?: 'approve' | 'reject', id?: string): Promise<void> {
  if (decision !== undefined && id !== undefined) {
    const done = await asUser(context, (client) => client.decideReview({ id, decision }))
    return context.print.result(done, () => [decision === 'approve' ? 'applied' : 'rejected; it will not come back'])
  }
  const { items } = await asUser(context, (client) => client.reviews())
  context.print.result({ items }, () =>
    items.length === 0
      ? ['nothing waits for you']
      : items.flatMap(({ id, at, op, file, actor, reason, diff }) => [
          `${id}  ${at}  ${op} ${file} by ${actor}: ${reason}`,
          ...diff.split('\n').map((line) => `    ${line}`),
        ]),
  )
}

/** A memory in the user's own editor, written back as the user's, never over another edit. */
export async function edit(context: Context, file: string, { cwd }: Where): Promise<void> {
  const memory = await asUser(context, (client) => client.memory({ cwd, file }))
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-'))
  const draft = join(folder, basename(file))
  try {
    writeFileSync(draft, memory.content, { mode: 0o600 })
    runEditor(context, draft)
    const content = readFileSync(draft, 'utf8')
    if (content === memory.content) return context.print.result({ changed: false }, () => ['nothing was changed'])
    const write = { cwd, file, content, ifHash: memory.hash, reason: 'edited' }
    const done = await asUser(context, (client) => client.putMemory(write)).catch((error: unknown) => {
      const kept = join(tmpdir(), `memoryd-${Date.now()}-${basename(file)}`)
      writeFileSync(kept, content, { mode: 0o600 })
      process.stderr.write(`your text is kept in ${kept}\n`)
      throw error
    })
    context.print.result({ changed: true, ...done }, () => [
      `saved ${file}; take it back with: ${context.self} undo ${done.changeId}`,
    ])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Through a shell, as git does it: `EDITOR` may be `code --wait`. */
function runEditor({ env }: Context, draft: string): void {
  const editor = env.VISUAL || env.EDITOR || 'vi'
  const { status } = spawnSync('sh', ['-c', `${editor} "$1"`, 'sh', draft], {
    stdio: 'inherit',
    env: env as NodeJS.ProcessEnv,
  })
  if (status !== 0) throw new MemoryError('INTERNAL', `${editor} ended with ${status}`, { hint: 'set EDITOR' })
}
