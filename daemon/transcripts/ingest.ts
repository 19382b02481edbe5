/**
 * Slices of transcripts, from their bytes to their rows. What takes time or waits happens before the transaction, which is
 * all or nothing: a kill leaves the places from which the same slices are read again.
 */

import { hash } from 'node:crypto'
import { lstatSync } from 'node:fs'
import { digest, type Ended, type Known, type Session } from './digest.ts'
import type { DueAfter } from './due.ts'
import { present } from './formats/fields.ts'
import { adapterFor, nameOf, type Source } from './formats/formats.ts'
import { type Cursor, readSmall, type Slice, type Tail } from './tail.ts'
import type { MessageStep, Slice as Rows, Step, Transcripts } from './transcript-table.ts'

export type Progress =
  /** `ended`: all is read, and the turn that was read last is over. */
  | { state: 'more' | 'read'; lines: number; unreadBytes: number; ended?: TurnEnd; told?: Told }
  | { state: 'gone' }
  | { state: 'unreadable' | 'unsupported'; reason: string }

/** What a slice held: sessions by harness and id, turns that began in it, and the lines that could not be used, by why. */
export type Told = { sessions: string[]; turns: number; skipped: Record<string, number> }

export type TurnEnd = Ended & { harness: string; project?: string }

type Deps = {
  tail: Tail
  transcripts: Transcripts
  redact: Redact
  projectOf: (cwd: string) => string
  isPrivate: (cwd: string) => boolean
  dueAfter: DueAfter
}

/** `rows` wait to be saved; `bytes` is how much of the file they are made of; `again` are others that have to be read again. */
export type Prepared = { progress: Progress; rows?: Rows; bytes: number; again?: Source[] }

export type Ingest = {
  /** The next slice of one transcript. Again of the same one only when it is saved. */
  read(source: Source, options: { capBytes: number }): Promise<Prepared>
  /** What it gives saves them, and gives the files that have to be read again because of it: that alone keeps others waiting. */
  ready(prepared: readonly Prepared[]): () => Source[]
}

export function createIngest({ tail, transcripts, redact, projectOf, isPrivate, dueAfter }: Deps): Ingest {
  const cleaner = createCleaner(redact)

  const take = async (source: Source, slice: Begun, before: Known): Promise<Prepared> => {
    const { harness } = source
    const adapter = adapterFor(harness)
    const name = nameOf(source)
    const described = adapter.describe(name)
    const told = digest(slice.lines, before, {
      adapter,
      harness: described.harness ?? harness,
      unnamed: name,
      projectOf: once(projectOf),
      isPrivate: once(isPrivate),
    })
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
      due: dueAfter(steps, slice.cursor),
    }
    const progress: Progress = {
      state: slice.more ? 'more' : 'read',
      lines: slice.lines.length,
      unreadBytes: slice.cursor.sizeBytes - slice.cursor.scanned,
      ...((steps.length > 0 || skipped.size > 0) && { told: toldIn(steps, skipped) }),
      ...(ended && !slice.more && { ended: endedIn(ended, described.harness ?? harness, projectOf) }),
    }
    return { progress, rows, bytes: slice.lines.reduce((sum, { length }) => sum + length, 0) }
  }

  return {
    read: async (source, { capBytes }) => {
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
          return take(source, { ...whole, begun: 'again' }, placed(begin(source), source, isPrivate))
      }
      if (slice.cursor === cursor) {
        if (row?.gone === 1) transcripts.setGone(source.path, 0)
        return { progress: { state: 'read', lines: 0, unreadBytes: 0 }, bytes: 0 }
      }
      const begun = slice.changed === 'rewritten' ? 'anew' : 'on'
      const before = row && begun === 'on' ? (JSON.parse(row.known) as Known) : begin(source)
      return take(source, { ...slice, begun }, placed(before, source, isPrivate))
    },
    ready: (prepared) => {
      const rows = prepared.flatMap(({ rows }) => rows ?? [])
      return rows.length > 0 ? transcripts.ready(rows) : () => []
    },
  }
}

type Begun = Extract<Slice, { cursor: Cursor }> & Pick<Rows, 'begun'>

/** What is known before the first line. */
function begin(source: Source): Known {
  const { sessionId, subAgent } = adapterFor(source.harness).describe(nameOf(source))
  return { session: present({ sessionId, subAgent }) }
}

/** Where lines do not say where the session runs, a file beside them may. */
function placed(known: Known, source: Source, isPrivate: (cwd: string) => boolean): Known {
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

function endedIn(ended: Ended, harness: string, projectOf: (cwd: string) => string): TurnEnd {
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

/** Within one slice the same few folders are asked for with every line. */
function once<T>(ask: (cwd: string) => T): (cwd: string) => T {
  const known = new Map<string, T>()
  return (cwd) => {
    const answer = known.has(cwd) ? (known.get(cwd) as T) : ask(cwd)
    known.set(cwd, answer)
    return answer
  }
}

/** Credentials out of all that is stored of a slice: texts, names and folders. Remembers what it has looked at lately. */

export type Cleaner = {
  step(step: Step): Soon<Step>
  known(known: Known): Promise<Known>
  hasSecret(path: string): Promise<boolean>
}

/** A session has one name, one folder and few branches, in each of its lines. */
const MOST_KNOWN = 2_000

export function createCleaner(redact: Redact): Cleaner {
  const looked = lately((text: string) => cleanName(text, redact))
  // Ids of messages come once: to remember them would cost more than to look at them.
  const name = (text: string) => (isHarmless(text) ? text : looked(text))
  const hasSecret = lately((path: string) => pathHasSecret(path, redact))
  const named = (text: string | undefined) => (text === undefined ? undefined : name(text))
  /** A folder that cannot be told is none: its project could not be told either. */
  const folder = async (path: string | undefined) => (path === undefined || (await hasSecret(path)) ? undefined : path)

  const sessionRow = async (session: MessageStep['session']): Promise<MessageStep['session']> => {
    const cwd = await folder(session.cwd)
    return {
      ...session,
      id: await name(session.id),
      forkOf: await named(session.forkOf),
      branch: await named(session.branch),
      cwd,
      project: cwd === undefined ? undefined : await folder(session.project),
    }
  }

  let last: { given: MessageStep['session']; cleaned: MessageStep['session'] } | undefined
  const rowOf = (given: MessageStep['session']): Soon<MessageStep['session']> => {
    if (last?.given === given) return last.cleaned
    return sessionRow(given).then((cleaned) => {
      last = { given, cleaned }
      return cleaned
    })
  }

  const message = (step: MessageStep): Soon<MessageStep> => {
    const session = rowOf(step.session)
    const id = 'id' in step.name ? name(step.name.id) : undefined
    const subAgent = name(step.subAgent)
    const answerId = named(step.answerId)
    const text = clean(step.text, redact)
    const isNow =
      !(session instanceof Promise || id instanceof Promise || subAgent instanceof Promise) &&
      !(answerId instanceof Promise || text instanceof Promise)
    if (isNow) return { ...step, session, name: id === undefined ? step.name : { id }, subAgent, answerId, text }
    return Promise.all([session, id, subAgent, answerId, text]).then(([session, id, subAgent, answerId, text]) => ({
      ...step,
      session,
      name: id === undefined ? step.name : { id },
      subAgent,
      answerId,
      text,
    }))
  }

  return {
    hasSecret: async (path) => hasSecret(path),
    step: (step) => {
      if (step.kind === 'message') return message(step)
      return 'from' in step ? whenever(name(step.from), (from) => ({ ...step, from })) : step
    },
    known: async ({ session, ended, last, ...rest }) => ({
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

/** Credentials out of what is kept. A name with one in it is kept as a hash: two of them must not become the same. */

/** At once where that can be: to wait for each of a hundred thousand names and texts takes longer than to look at them. */
export type Soon<T> = T | Promise<T>

export type Redact = (text: string) => Soon<{ text: string }>

export function clean(text: string, redact: Redact): Soon<string> {
  return text === '' ? '' : whenever(redact(text), (redacted) => redacted.text)
}

export function whenever<A, B>(answer: Soon<A>, then: (answer: A) => B): Soon<B> {
  return answer instanceof Promise ? answer.then(then) : then(answer)
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

export function isHarmless(name: string): boolean {
  return name === '' || HARMLESS.test(name)
}

export function cleanName(name: string, redact: Redact): Soon<string> {
  if (isHarmless(name)) return name
  return whenever(redact(name), ({ text }) => (text === name ? name : hash('sha256', name, 'hex')))
}

/** Each name in it by itself as well: beside a slash not every credential is recognised. */
export async function pathHasSecret(path: string, redact: Redact): Promise<boolean> {
  const views = [path, path.split('/').join('\n')]
  for (const view of views) if ((await redact(view)).text !== view) return true
  return false
}
