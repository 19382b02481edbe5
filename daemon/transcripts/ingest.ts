/** Slices of transcripts, from bytes to rows. What takes time precedes the transaction; a kill leaves the old cursors. */
import { hash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import type { Clock, Timer } from '../platform/clock.ts'
import { createLru } from '../platform/lru.ts'
import { redact } from '../secrets/redact.ts'
import { createFolders, digest, type Ended, type Folders, type Known } from './digest.ts'
import { present } from './formats/fields.ts'
import { adapterFor, nameOf, type Source } from './formats/format.ts'
import { type Cursor, createTail, lstat, type Read, readSmall } from './tail.ts'
import { isSame, type Slice as Rows, type SessionRow, type Step, type Transcripts } from './transcript-table.ts'

export type Progress =
  /** `ended`: all is read, and the turn that was read last is over. */
  | { state: 'more' | 'read'; lines: number; unreadBytes: number; ended?: TurnEnd; told?: Told }
  | { state: 'gone' }
  | { state: 'unreadable' | 'unsupported'; reason: string }

/** What a slice held: sessions by harness and id, turns that began in it, and unusable lines by reason. */
export type Told = { sessions: string[]; turns: number; skipped: Record<string, number> }

export type TurnEnd = Ended & { harness: string; project?: string }

/** `rows` are to be saved; `bytes`: of the file, for the rows; `again`: other files that have to be read again. */
export type Prepared = { progress: Progress; rows?: Rows; bytes: number; again?: Source[] }

type Settings = { backlogDays: number; privatePaths: () => readonly string[] }

export type Ingest = ReturnType<typeof createIngest>

export function createIngest(clock: Clock, transcripts: Transcripts, { backlogDays, privatePaths }: Settings) {
  const tail = createTail(clock)
  const cleaner = createCleaner()

  const take = async (source: Source, slice: Read, begun: Rows['begun'], known?: string): Promise<Prepared> => {
    const folders = createFolders(privatePaths())
    const adapter = adapterFor(source.harness)
    const unnamed = nameOf(source)
    const { harness = source.harness, sessionId, subAgent } = adapter.describe(unnamed)
    const first: Known = { session: present({ sessionId, subAgent }) }
    const before = placed(known === undefined ? first : (JSON.parse(known) as Known), source, folders)
    const digested = digest(slice.lines, before, { adapter, harness, unnamed, folders })
    const steps: Step[] = []
    for (const step of digested.steps) steps.push(await cleaner.step(step))
    const skipped = new Map(digested.broken)
    for (const { reason } of slice.skipped) skipped.set(reason, (skipped.get(reason) ?? 0) + 1)
    const after = await cleaner.known(digested.known)
    const { ended, ...quiet } = after
    const rows: Rows = {
      ...source,
      bornAt: Math.trunc(lstat(source.path)?.birthtimeMs ?? 0),
      begun,
      cursor: JSON.stringify(slice.cursor),
      known: JSON.stringify(slice.more ? after : quiet),
      steps,
      skipped,
      due: dueAfter(steps, slice.cursor, clock.now(), backlogDays),
    }
    const isOver = ended && !slice.more
    const progress: Progress = {
      state: slice.more ? 'more' : 'read',
      lines: slice.lines.length,
      unreadBytes: slice.cursor.sizeBytes - slice.cursor.scanned,
      ...((steps.length > 0 || skipped.size > 0) && { told: toldIn(steps, skipped) }),
      ...(isOver && { ended: present<TurnEnd>({ ...ended, harness, project: folders.projectOf(ended.cwd) }) }),
    }
    return { progress, rows, bytes: slice.lines.reduce((sum, { length }) => sum + length, 0) }
  }

  return {
    /** The next slice of one transcript. Again of the same one only when it is saved. */
    read: async (source: Source, { capBytes }: { capBytes: number }): Promise<Prepared> => {
      const { path } = source
      const row = transcripts.file(path)
      // Its rows would have to store the path.
      if (!row && (await cleaner.hasSecret(path)))
        return { progress: { state: 'unsupported', reason: 'its path holds what looks like a credential' }, bytes: 0 }
      const cursor = row && (JSON.parse(row.cursor) as Cursor)
      const slice = tail.readSlice(path, cursor, { capBytes })
      if (slice.changed === 'gone') {
        const again = row?.gone === 0 ? transcripts.setGone(path, 1) : []
        return { progress: { state: 'gone' }, bytes: 0, again }
      }
      if (!('cursor' in slice)) return { progress: { state: slice.changed, reason: slice.reason }, bytes: 0 }
      if (slice.changed === 'rewritten') return take(source, slice, 'anew')
      const whole = row?.again === 1 ? tail.readSlice(path, undefined, { capBytes }) : undefined
      if (whole && 'cursor' in whole) return take(source, whole, 'again')
      if (slice.cursor !== cursor) return take(source, slice, 'on', row?.known)
      if (row?.gone === 1) transcripts.setGone(path, 0)
      return { progress: { state: 'read', lines: 0, unreadBytes: 0 }, bytes: 0 }
    },
    /** The function that it returns is all that holds the lock: it saves, and names files that have to be read again. */
    ready: (prepared: readonly Prepared[]): (() => Source[]) => {
      const rows = prepared.flatMap(({ rows }) => rows ?? [])
      return rows.length > 0 ? transcripts.ready(rows) : () => []
    },
  }
}

function placed(known: Known, source: Source, { isPrivate }: Folders): Known {
  const { folder } = adapterFor(source.harness)
  if (!folder || known.session.cwd !== undefined) return known
  const name = nameOf(source)
  const texts = new Map(folder.files(name).map((file) => [file, readSmall(`${source.root}/${file}`)]))
  const cwd = folder.cwd(name, texts)
  if (cwd === undefined) return known
  return isPrivate(cwd) ? { ...known, hidden: true } : { ...known, session: { ...known.session, cwd } }
}

function toldIn(steps: readonly Step[], skipped: ReadonlyMap<string, number>): Told {
  const messages = steps.filter((step) => step.kind === 'message')
  return {
    sessions: [...new Set(messages.map(({ session }) => `${session.harness} ${session.id}`))],
    turns: messages.filter(({ startsTurn, subAgent, by }) => startsTurn && subAgent === '' && by !== 'injected').length,
    skipped: Object.fromEntries(skipped),
  }
}

const SETTLING_MS = 5_000
const DAY_MS = 86_400_000

/** The jobs that become due when a turn ends. Sessions that were over more than `backlogDays` ago are left alone. */
function dueAfter(steps: readonly Step[], cursor: Cursor, nowMs: number, backlogDays: number): Rows['due'] {
  // Not only the last step: what a harness writes when the user quits would hide the turn before it.
  const end = steps.findLast((step) => step.kind === 'message' && step.ends !== undefined && step.subAgent === '')
  if (end?.kind !== 'message') return undefined
  const { harness, id } = end.session
  const { at = nowMs } = end
  const due = {
    key: `${harness} ${id}`,
    watermark: `${cursor.device}:${cursor.inode}:${cursor.generation}:${cursor.offset}`,
    input: { harness, sessionId: id, at },
    ...(end.ends === 'settling' && { notBeforeMs: nowMs + SETTLING_MS }),
  }
  // Notes help to go on: a session that was left long ago gets them with its next turn.
  const withinDays = { extract: backlogDays, notes: 1 }
  const kinds = Object.entries(withinDays).filter(([_, days]) => nowMs - at <= days * DAY_MS)
  return kinds.length > 0 ? { nowMs, jobs: kinds.map(([kind]) => ({ kind, ...due })) } : undefined
}

export type EndedTurn = Omit<TurnEnd, 'end' | 'at'> & { end: 'final' | 'aborted' }

/** An end older than this comes from a transcript read for the first time: no event. */
const NEWS_MS = 10 * 60_000

/** Calls `onTurn` at once where the harness marks the end, else when nothing follows for a while. */
export function createTurnEnds(clock: Clock, onTurn: (turn: EndedTurn) => void) {
  const settling = new Map<string, Timer>()
  return {
    read: (path: string, ended: TurnEnd | undefined) => {
      settling.get(path)?.stop()
      settling.delete(path)
      if (!ended || (ended.at !== undefined && clock.now() - ended.at > NEWS_MS)) return
      const { end, at: _, ...turn } = ended
      if (end !== 'settling') return onTurn({ ...turn, end })
      const settle = () => {
        settling.delete(path)
        onTurn({ ...turn, end: 'final' })
      }
      settling.set(path, clock.after(SETTLING_MS, settle))
    },
    stop: () => {
      for (const timer of settling.values()) timer.stop()
    },
  }
}

export async function clean(text: string): Promise<string> {
  return text === '' ? '' : (await redact(text)).text
}

/** Names that cannot hold a credential: to look for one in each name would take longer than everything else. */
const HARMLESS = new RegExp(
  `^(?:${[
    '',
    '(?:[a-z]{1,12}[_-])?[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}',
    '[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}[.-][\\da-z]{1,4}',
    '[\\w.-]{1,11}',
    '[a-z]{1,11}(?:[-_.][a-z]{1,11}){1,5}',
    '[\\da-f]{12,64}',
    '(?:msg|req|resp|call|toolu|item|fc|rs)_[A-Za-z0-9]{8,48}',
  ].join('|')})$`,
)

/** A name with a credential in it is kept as a hash: two of them must not become the same. */
export async function cleanName<T extends string | null | undefined>(name: T): Promise<T> {
  if (typeof name !== 'string' || HARMLESS.test(name) || (await redact(name)).text === name) return name
  return hash('sha256', name, 'hex') as T
}

/** Each name in it by itself as well: beside a slash not every credential is recognised. */
export async function pathHasSecret(path: string): Promise<boolean> {
  const names = path.split('/')
  if (names.every((name) => HARMLESS.test(name))) return false
  const views = [path, names.join('\n')]
  for (const view of views) if ((await redact(view)).text !== view) return true
  return false
}

/** Also of where a link leads: what is kept is the folder behind it. */
export async function folderHasSecret(folder: string): Promise<boolean> {
  let real = folder
  try {
    real = realpathSync.native(folder)
  } catch {
    // It leads nowhere.
  }
  return (await pathHasSecret(folder)) || (real !== folder && (await pathHasSecret(real)))
}

const MOST_KNOWN = 2_000

function createCleaner() {
  const known = createLru<string, boolean>(MOST_KNOWN)
  const hasSecret = async (path: string): Promise<boolean> => {
    const answer = known.get(path) ?? (await pathHasSecret(path))
    known.set(path, answer)
    return answer
  }
  /** A folder with a credential in its path is not kept, and neither is its project. */
  const folder = async (path: string | undefined) => (path === undefined || (await hasSecret(path)) ? undefined : path)
  let last: { given: SessionRow; cleaned: SessionRow } | undefined
  const rowOf = async (given: SessionRow): Promise<SessionRow> => {
    if (last && isSame(last.given, given)) return last.cleaned
    const cwd = await folder(given.cwd)
    const cleaned = {
      ...given,
      id: await cleanName(given.id),
      forkOf: await cleanName(given.forkOf),
      branch: await cleanName(given.branch),
      cwd,
      project: cwd === undefined ? undefined : await folder(given.project),
    }
    last = { given, cleaned }
    return cleaned
  }

  return {
    hasSecret,
    step: async (step: Step): Promise<Step> => {
      if (step.kind === 'rewound') return 'from' in step ? { ...step, from: await cleanName(step.from) } : step
      return {
        ...step,
        session: await rowOf(step.session),
        name: 'id' in step.name ? { id: await cleanName(step.name.id) } : step.name,
        subAgent: await cleanName(step.subAgent),
        answerId: await cleanName(step.answerId),
        text: await clean(step.text),
      }
    },
    known: async ({ session, ended, last, ...rest }: Known) => ({
      session: {
        ...session,
        sessionId: await cleanName(session.sessionId),
        subAgent: await cleanName(session.subAgent),
        forkOf: await cleanName(session.forkOf),
        branch: await cleanName(session.branch),
        model: await cleanName(session.model),
        cwd: await folder(session.cwd),
      },
      ...rest,
      last: await cleanName(last),
      ended: ended && { ...ended, sessionId: await cleanName(ended.sessionId), cwd: await folder(ended.cwd) },
    }),
  }
}
