/** Slices of transcripts, from bytes to rows. What takes time happens before the transaction; a kill leaves the old cursors. */
import { hash } from 'node:crypto'
import { lstatSync } from 'node:fs'
import type { Clock, Timer } from '../platform/clock.ts'
import { redactSoon } from '../secrets/redact.ts'
import { createFolders, digest, type Ended, type Folders, type Known, type Session } from './digest.ts'
import { present } from './formats/facts.ts'
import { adapterFor, nameOf, type Source } from './formats/format.ts'
import { type Cursor, createTail, readSmall, type Slice } from './tail.ts'
import type { MessageStep, Slice as Rows, Step, Transcripts } from './transcript-table.ts'

export type Progress =
  /** `ended`: all is read, and the turn that was read last is over. */
  | { state: 'more' | 'read'; lines: number; unreadBytes: number; ended?: TurnEnd; told?: Told }
  | { state: 'gone' }
  | { state: 'unreadable' | 'unsupported'; reason: string }

/** What a slice held: sessions by harness and id, turns that began in it, and the lines that could not be used, by why. */
export type Told = { sessions: string[]; turns: number; skipped: Record<string, number> }

export type TurnEnd = Ended & { harness: string; project?: string }

/** `rows` wait to be saved; `bytes` is how much of the file they are made of; `again` are others that have to be read again. */
export type Prepared = { progress: Progress; rows?: Rows; bytes: number; again?: Source[] }

/** `privatePaths`: folders of which nothing is kept but the names of their sessions. */
type Settings = { backlogDays: number; privatePaths: () => readonly string[] }

export type Ingest = ReturnType<typeof createIngest>

export function createIngest(clock: Clock, transcripts: Transcripts, { backlogDays, privatePaths }: Settings) {
  const tail = createTail(clock)
  const cleaner = createCleaner()

  const take = async (source: Source, slice: Begun, before: Known, folders: Folders): Promise<Prepared> => {
    const { harness } = source
    const adapter = adapterFor(harness)
    const name = nameOf(source)
    const described = adapter.describe(name)
    const told = digest(slice.lines, before, { adapter, harness: described.harness ?? harness, unnamed: name, folders })
    const steps: Step[] = []
    for (const step of told.steps) {
      const cleaned = cleaner.step(step)
      steps.push(cleaned instanceof Promise ? await cleaned : cleaned)
    }
    const skipped = new Map(told.broken)
    for (const { reason } of slice.skipped) skipped.set(reason, (skipped.get(reason) ?? 0) + 1)
    const { ended, ...quiet } = await cleaner.known(told.known)
    const known = slice.more ? { ...quiet, ...(ended && { ended }) } : quiet
    const rows: Rows = {
      ...source,
      bornAt: bornAt(source.path),
      begun: slice.begun,
      cursor: JSON.stringify(slice.cursor),
      known: JSON.stringify(known),
      steps,
      skipped,
      due: dueAfter(steps, slice.cursor, clock.now(), backlogDays),
    }
    const progress: Progress = {
      state: slice.more ? 'more' : 'read',
      lines: slice.lines.length,
      unreadBytes: slice.cursor.sizeBytes - slice.cursor.scanned,
      ...((steps.length > 0 || skipped.size > 0) && { told: toldIn(steps, skipped) }),
      ...(ended && !slice.more && { ended: endedIn(ended, described.harness ?? harness, folders) }),
    }
    return { progress, rows, bytes: slice.lines.reduce((sum, { length }) => sum + length, 0) }
  }

  return {
    /** The next slice of one transcript. Again of the same one only when it is saved. */
    read: async (source: Source, { capBytes }: { capBytes: number }): Promise<Prepared> => {
      const folders = createFolders(privatePaths())
      const row = transcripts.file(source.path)
      // Its rows could not say where they stand.
      if (!row && (await cleaner.hasSecret(source.path)))
        return { progress: { state: 'unsupported', reason: 'its path holds what looks like a credential' }, bytes: 0 }
      const cursor = row && (JSON.parse(row.cursor) as Cursor)
      const slice = tail.readSlice(source.path, cursor, { capBytes })
      if (slice.changed === 'gone') {
        const again = row?.gone === 0 ? transcripts.setGone(source.path, 1) : []
        return { progress: { state: 'gone' }, bytes: 0, again }
      }
      if (!('cursor' in slice)) return { progress: { state: slice.changed, reason: slice.reason }, bytes: 0 }
      if (row?.again === 1 && slice.changed !== 'rewritten') {
        const whole = tail.readSlice(source.path, undefined, { capBytes })
        if ('cursor' in whole)
          return take(source, { ...whole, begun: 'again' }, placed(begin(source), source, folders), folders)
      }
      if (slice.cursor === cursor) {
        if (row?.gone === 1) transcripts.setGone(source.path, 0)
        return { progress: { state: 'read', lines: 0, unreadBytes: 0 }, bytes: 0 }
      }
      const begun = slice.changed === 'rewritten' ? 'anew' : 'on'
      const before = row && begun === 'on' ? (JSON.parse(row.known) as Known) : begin(source)
      return take(source, { ...slice, begun }, placed(before, source, folders), folders)
    },
    /** What it gives saves them, and gives the files that have to be read again because of it: that alone keeps others waiting. */
    ready: (prepared: readonly Prepared[]): (() => Source[]) => {
      const rows = prepared.flatMap(({ rows }) => rows ?? [])
      return rows.length > 0 ? transcripts.ready(rows) : () => []
    },
  }
}

type Begun = Extract<Slice, { cursor: Cursor }> & Pick<Rows, 'begun'>

function begin(source: Source): Known {
  const { sessionId, subAgent } = adapterFor(source.harness).describe(nameOf(source))
  return { session: present({ sessionId, subAgent }) }
}

/** Where lines do not say where the session runs, a file beside them may. */
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
  const sessions = new Set<MessageStep['session']>()
  let turns = 0
  for (const step of steps) {
    if (step.kind !== 'message') continue
    sessions.add(step.session)
    if (step.startsTurn && step.subAgent === '' && step.by !== 'injected') turns++
  }
  const names = [...sessions].map(({ harness, id }) => `${harness} ${id}`)
  return { sessions: [...new Set(names)], turns, skipped: Object.fromEntries(skipped) }
}

function endedIn(ended: Ended, harness: string, { projectOf }: Folders): TurnEnd {
  return { ...ended, harness, ...(ended.cwd !== undefined && { project: projectOf(ended.cwd) }) }
}

/** Some file systems do not know: then it is as old as all others. */
function bornAt(path: string): number {
  try {
    return Math.trunc(lstatSync(path).birthtimeMs)
  } catch {
    return 0
  }
}

/** Where the harness marks no end, it is one if nothing follows for a while. */
const SETTLING_MS = 5_000
const DAY_MS = 86_400_000
const LEFT_MS = DAY_MS

/** The jobs that become due when a turn ends. Sessions that were over more than `backlogDays` ago are left alone. */
function dueAfter(steps: readonly Step[], cursor: Cursor, nowMs: number, backlogDays: number): Rows['due'] {
  // Not only the last: whatever a harness writes when it is left would hide the turn before.
  const end = steps.findLast((step) => step.kind === 'message' && step.ends !== undefined && step.subAgent === '')
  if (end?.kind !== 'message') return undefined
  const { harness, id } = end.session
  const due = {
    key: `${harness} ${id}`,
    watermark: `${cursor.device}:${cursor.inode}:${cursor.generation}:${cursor.offset}`,
    input: { harness, sessionId: id, at: end.at ?? nowMs },
    ...(end.ends === 'settling' && { notBeforeMs: nowMs + SETTLING_MS }),
  }
  const ageMs = end.at === undefined ? 0 : nowMs - end.at
  const kinds = [
    { kind: 'extract', within: backlogDays * DAY_MS },
    // Notes are for going on: a session that was left gets them with its next turn.
    { kind: 'notes', within: LEFT_MS },
  ]
  const jobs = kinds.filter(({ within }) => ageMs <= within).map(({ kind }) => ({ kind, ...due }))
  return jobs.length > 0 ? { nowMs, jobs } : undefined
}

export type EndedTurn = Omit<TurnEnd, 'end' | 'at'> & { end: 'final' | 'aborted' }

/** Old transcripts that are read for the first time are no news. */
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

/** At once where that can be: to wait for each of a hundred thousand names and texts takes longer than to look at them. */
type Soon<T> = T | Promise<T>

export function clean(text: string): Soon<string> {
  return text === '' ? '' : whenever(redactSoon(text), (redacted) => redacted.text)
}

function whenever<A, B>(answer: Soon<A>, then: (answer: A) => B): Soon<B> {
  return answer instanceof Promise ? answer.then(then) : then(answer)
}

function whenAll<P extends readonly unknown[], B>(
  parts: P,
  then: (answers: { -readonly [K in keyof P]: Awaited<P[K]> }) => B,
): Soon<B> {
  return parts.some((part) => part instanceof Promise) ? Promise.all(parts).then(then) : then(parts as never)
}

/** Names that cannot hold one are the rule, and to look at each would cost more than all the rest. */
const HARMLESS = new RegExp(
  `^(?:${[
    '(?:[a-z]{1,12}[_-])?[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}',
    '[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}[.-][\\da-z]{1,4}',
    '[\\w.-]{1,11}',
    '[\\da-f]{12,64}',
    '(?:msg|req|resp|call|toolu|item|fc|rs)_[A-Za-z0-9]{8,48}',
  ].join('|')})$`,
)

function isHarmless(name: string): boolean {
  return name === '' || HARMLESS.test(name)
}

/** A name with a credential in it is kept as a hash: two of them must not become the same. */
export function cleanName(name: string): Soon<string> {
  if (isHarmless(name)) return name
  return whenever(redactSoon(name), ({ text }) => (text === name ? name : hash('sha256', name, 'hex')))
}

/** Each name in it by itself as well: beside a slash not every credential is recognised. */
export async function pathHasSecret(path: string): Promise<boolean> {
  const views = [path, path.split('/').join('\n')]
  for (const view of views) if ((await redactSoon(view)).text !== view) return true
  return false
}

/** A session has one name, one folder and few branches, in each of its lines. */
const MOST_KNOWN = 2_000

function createCleaner() {
  const looked = lately(cleanName)
  // Ids of messages come once: to remember them would cost more than to look at them.
  const name = (text: string) => (isHarmless(text) ? text : looked(text))
  const hasSecret = lately(pathHasSecret)
  const named = (text: string | undefined) => (text === undefined ? undefined : name(text))
  /** A folder with a credential in its path is not kept, and neither is its project. */
  const folder = async (path: string | undefined) => (path === undefined || (await hasSecret(path)) ? undefined : path)

  let last: { given: MessageStep['session']; cleaned: MessageStep['session'] } | undefined
  const rowOf = (given: MessageStep['session']): Soon<MessageStep['session']> => {
    if (last?.given === given) return last.cleaned
    const names = [name(given.id), named(given.forkOf), named(given.branch)] as const
    return Promise.all([...names, folder(given.cwd), folder(given.project)]).then(
      ([id, forkOf, branch, cwd, project]) => {
        const cleaned = { ...given, id, forkOf, branch, cwd, project: cwd === undefined ? undefined : project }
        last = { given, cleaned }
        return cleaned
      },
    )
  }

  const message = (step: MessageStep): Soon<MessageStep> => {
    const id = 'id' in step.name ? name(step.name.id) : undefined
    const parts = [rowOf(step.session), id, name(step.subAgent), named(step.answerId), clean(step.text)] as const
    return whenAll(parts, ([session, id, subAgent, answerId, text]) => ({
      ...step,
      session,
      name: id === undefined ? step.name : { id },
      subAgent,
      answerId,
      text,
    }))
  }

  return {
    hasSecret: async (path: string) => hasSecret(path),
    step: (step: Step): Soon<Step> => {
      if (step.kind === 'message') return message(step)
      return 'from' in step ? whenever(name(step.from), (from) => ({ ...step, from })) : step
    },
    known: async ({ session, ended, last, ...rest }: Known): Promise<Known> => ({
      session: present<Session>({
        ...session,
        sessionId: await named(session.sessionId),
        subAgent: await named(session.subAgent),
        forkOf: await named(session.forkOf),
        branch: await named(session.branch),
        model: await named(session.model),
        cwd: await folder(session.cwd),
      }),
      ...rest,
      ...(last !== undefined && { last: await name(last) }),
      ...(ended && {
        ended: present<Ended>({ ...ended, sessionId: await name(ended.sessionId), cwd: await folder(ended.cwd) }),
      }),
    }),
  }
}

function lately<T>(ask: (text: string) => Soon<T>): (text: string) => Soon<T> {
  const known = new Map<string, T>()
  return (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    return whenever(ask(text), (answer) => {
      if (known.size >= MOST_KNOWN) known.clear()
      known.set(text, answer)
      return answer
    })
  }
}
