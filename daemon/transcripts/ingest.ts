/**
 * Slices of transcripts, from their bytes to their rows. What takes time or waits happens before the transaction, which is
 * all or nothing: a kill leaves the places from which the same slices are read again.
 */

import { lstatSync } from 'node:fs'
import type { Clock } from '../platform/clock.ts'
import { createCleaner } from './clean.ts'
import { createFolders, digest, type Ended, type Folders, type Known } from './digest.ts'
import { dueAfter } from './due.ts'
import { present } from './formats/fields.ts'
import { adapterFor, nameOf, type Source } from './formats/formats.ts'
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
  const tail = createTail({ clock })
  const cleaner = createCleaner()

  const take = async (source: Source, slice: Begun, before: Known, folders: Folders): Promise<Prepared> => {
    const { harness } = source
    const adapter = adapterFor(harness)
    const name = nameOf(source)
    const described = adapter.describe(name)
    const told = digest(slice.lines, before, {
      adapter,
      harness: described.harness ?? harness,
      unnamed: name,
      folders,
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

/** What is known before the first line. */
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
