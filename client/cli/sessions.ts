/** The commands about sessions: search, notes, compact, recall and why --session. */
import pc from 'picocolors'
import { MemoryError } from '../../schema/errors.ts'
import type { RecallAnswer as Answer } from '../../schema/recall.ts'
import type { Found, SessionNotes } from '../../schema/session.ts'
import type { StrictClient } from '../client.ts'
import { asked, asUser, type Context, harmless, inOneLine, wrongUsage } from './context.ts'

export async function search(context: Context, words: string[], { cwd, lines }: { cwd: string; lines: number }) {
  const asking = { q: words.join(' '), cwd, limit: asked(lines) }
  const found = await asUser(context, (client) => client.search(asking))
  const paint = pc.createColors(context.print.colour === 'on')
  context.print.result(found, () => {
    if (found.skipped) return ['memory is off here']
    if (found.items.length === 0) return ['no message in the sessions of this project says that']
    return found.items.flatMap((item, n) => [
      ...(n === 0 ? [] : ['']),
      `${paint.bold(item.role)}  ${item.at?.slice(0, 16).replace('T', ' ') ?? 'at some time'}  ${paint.dim(`${item.harness} session ${item.sessionId}`)}`,
      `  ${marked(item, paint.yellow)}`,
    ])
  })
}

/** The snippet may be what a program printed: its colours are not shown. */
function marked({ snippet, hits }: Found, mark: (text: string) => string): string {
  let from = 0
  const parts = hits.flatMap((hit) => {
    const before = harmless(snippet.slice(from, hit.from), 'off')
    from = hit.to
    return [before, mark(harmless(snippet.slice(hit.from, hit.to), 'off'))]
  })
  return [...parts, harmless(snippet.slice(from), 'off')].join('')
}

type NotesOptions = { cwd: string; harness?: string }

export async function notes(context: Context, session: string | undefined, options: NotesOptions): Promise<void> {
  const { harness } = options
  await asUser(context, async (client) => {
    const wanted = session === undefined ? await newest(client, options) : { id: session, harness }
    const found = await client.sessionNotes(wanted)
    context.print.result({ sessionId: wanted.id, ...found }, () => [
      ...(found.content === ''
        ? [`there are no notes of session ${wanted.id} yet`]
        : found.content.trimEnd().split('\n')),
      ...(found.updatedAt === undefined ? [] : ['', writtenWhen(found)]),
    ])
  })
}

async function newest(client: StrictClient, { cwd, harness }: NotesOptions): Promise<{ id: string; harness?: string }> {
  const { items } = await client.sessions({ cwd, limit: harness === undefined ? '1' : '999' })
  const found = items.find((item) => harness === undefined || item.harness === harness)
  if (found) return { id: found.id, harness: found.harness }
  throw new MemoryError('NOT_FOUND', 'no session of this project is known', {
    hint: 'name one, or another folder with --project',
  })
}

function writtenWhen({ updatedAt = '', source, updatingSince }: SessionNotes): string {
  const by = source === 'model' ? 'by a model' : 'by rules, without a model'
  const now = updatingSince === undefined ? '' : '; they are being written anew'
  return `(written ${updatedAt.slice(0, 16).replace('T', ' ')} ${by}${now})`
}

type CompactOptions = { harness?: string; model: string; instructions?: string }

const DEADLINE_MS = 600_000

const strategies = {
  notes: 'from the notes of the session',
  full: 'written by a model',
  extractive: 'put together without a model',
}

export async function compact(context: Context, id: string, options: CompactOptions): Promise<void> {
  const { harness, model, instructions } = options
  const done = await asUser(context, async (client) => {
    const session = await client.session({ id, harness })
    const where = { sessionId: session.id, harness: session.harness, cwd: session.cwd ?? '/' }
    const how = { model, trigger: 'manual', preview: true, instructions } as const
    return client.compact({ ...where, ...how }, { deadlineMs: DEADLINE_MS })
  })
  const paint = pc.createColors(context.print.colour === 'on')
  context.print.result(done, () => [
    ...harmless(done.summary, 'off').split('\n'),
    '',
    paint.dim(
      `${strategies[done.strategy]}; about ${done.tokensBefore} tokens become ${done.tokensAfter}, ${done.kept} messages stay as they are`,
    ),
  ])
}

type RecallOptions = {
  cwd: string
  mode: 'auto' | 'local' | 'model'
  lines?: number
  session?: string
  harness: string
  explain?: boolean
}

const MOST = 5
const reasons: Record<NonNullable<Answer['skipped']>, string> = {
  off: 'memory is off here',
  short: 'there is nothing to look for in this',
  budget: 'the session has no room left for what fits',
  none: 'no memory fits',
}

export async function recall(context: Context, words: string[], options: RecallOptions): Promise<void> {
  const { cwd, mode, lines, session, harness, explain } = options
  if (lines !== undefined && (lines < 1 || lines > MOST))
    throw wrongUsage(`1 to ${MOST} memories are given for one question`, 'give -n 5')
  const answer = await asUser(context, (client) =>
    client.recall({ cwd, query: words.join(' '), mode, harness, k: lines, sessionId: session, explain }),
  )
  context.print.result(answer, () => [
    ...(answer.skipped ? [reasons[answer.skipped]] : answer.text.replace(/\n$/, '').split('\n')),
    ...(answer.explain ? explained(answer, answer.explain) : []),
  ])
}

function explained({ mode }: Answer, { fit, enough, ranked, model }: NonNullable<Answer['explain']>): string[] {
  const verdict = fit >= enough ? 'enough' : 'too little'
  return [
    '',
    `selected by ${mode === 'model' ? 'the model' : 'words'}${model === undefined ? '' : ` (model: ${model})`}; the best fits ${fit.toFixed(2)} of the question, ${verdict} (${enough})`,
    ...ranked.map(
      (each) =>
        `${each.score.toFixed(2).padStart(7)}  ${each.fit.toFixed(2)}  ${inOneLine(each.file)}  ${each.words.join(' ')}`,
    ),
  ]
}

export async function whySession(context: Context, id: string): Promise<void> {
  const { items, sessionBytes } = await asUser(context, async (client) => {
    const given = await client.recalled({ id })
    // Several harnesses may have a session of that id.
    const refuse = (error: MemoryError) => error.code !== 'CONFLICT' && Promise.reject(error)
    if (given.items.length === 0) await client.session({ id }).catch(refuse)
    return given
  })
  context.print.result({ items, sessionBytes }, () =>
    items.length === 0
      ? ['this session was given no memory']
      : [
          ...items.map(
            ({ at, harness, path, bytes, mode, counts }) =>
              `${at}  ${inOneLine(path)}  ${bytes} bytes, by ${mode === 'model' ? 'the model' : 'words'}, ${harness}${counts ? '' : ', before it was compacted'}`,
          ),
          `${sessionBytes} bytes count`,
        ],
  )
}
