/** The one way by which this program changes memories. */
import { MemoryError } from '../../schema/errors.ts'
import type { Clock } from '../platform/clock.ts'
import { message } from '../platform/files.ts'
import { createInTurn } from '../platform/queue.ts'
import { CAP_BYTES, hashOf } from '../platform/safe-folder.ts'
import {
  type Confined,
  indexOf,
  isIndex,
  openIn,
  type Present,
  placeTrouble,
  presentOf,
  putAll,
  readPresent,
} from './folder.ts'
import { type IndexChange, type Pointed, upkeep } from './index-upkeep.ts'
import type { Evidence, Journal, NewChange, Op, Tip } from './journal.ts'
import {
  guard,
  isRefusal,
  type Judge,
  type Judged,
  type Redact,
  refusalOf,
  whyRefused,
  withoutCredentials,
} from './write-checks.ts'

export type Write = {
  file: string
  /** `null` deletes. */
  content: string | null
  /** What the writer believes to be there: a hash, nothing (`null`), or whatever is there (`undefined`). */
  expect?: string | null | undefined
  form?: 'checked' | 'as-it-was'
  /** What a deletion leaves in the journal. With `nothing` there need not even be a file. */
  leaves?: 'history' | 'nothing'
  /** Why this one, and what it rests on, where the writes of a run differ in that. */
  because?: { reason: string; evidence: readonly Evidence[] }
}

/** Who changes, why, and what it rests on. */
export type By = {
  actor: string
  reason: string
  runId?: string | undefined
  evidence?: readonly Evidence[]
  op?: Op
}

/** Looked at, checked and cleaned. */
export type Prepared = { write: Write; before: Present | undefined; beforeText: string; judged: Judged | undefined }

/**
 * The one way by which this program changes memories. The journal is the commit point: once a change is in it,
 * it happens, if need be at the next start (`recover.ts`); before that, nothing was touched.
 */

export type Applied = { id: number; file: string; hash: string | undefined; created: boolean } & Omit<Judged, 'content'>

/** What is in the store with a run and never without it: done in the same transaction, and undone if no file could be written. */
export type Along = { before(): void; takeBack(): void }

/** All of it or nothing. */
export type Apply = (writes: readonly Write[], by: By, along?: Along) => Promise<Applied[]>

export type Gate = {
  /** All of it or nothing. */
  apply(dir: string, writes: readonly Write[], by: By): Promise<Applied[]>
  /** Waits for whatever else changes this directory, then runs `work` alone; it may look first, and then apply. */
  alone<T>(dir: string, work: (apply: Apply) => Promise<T>): Promise<T>
  /** Everything that would refuse a write, without writing. */
  check(dir: string, write: Write, by: By): Promise<void>
  /** The same for a write that is to wait: a refusal is recorded. */
  admit(dir: string, write: Write, by: By): Promise<void>
  /** Journals what others have done already: there is nothing left to write. */
  record(changes: readonly NewChange[]): void
}

type Deps = {
  journal: Journal
  judge: Judge
  redact: Redact
  clock: Clock
  /** Whether memories may be in a directory that was found behind a link. */
  isPlace?: (dir: string) => boolean
  onChange: (dir: string, files: string[], by: By) => void
}

/** What becomes of the indexes. `clean`: hashes of those that hold no credential. */
type Indexes = { changes: readonly IndexChange[]; clean: Set<string> }

/** A directory that is held open for as long as a change takes. */
type Open = { dir: string; folder: Confined }

export function createGate({ journal, judge, redact, clock, isPlace, onChange }: Deps): Gate {
  const inTurn = createInTurn()
  let applied = journal.applied()

  const alone = <T>(dir: string, work: (apply: Apply) => Promise<T>): Promise<T> =>
    inTurn(dir, () => work((writes, by, along) => apply(dir, writes, by, along)))

  /** Looks, checks and cleans: everything that may wait or refuse. */
  const prepare = async (at: Open, write: Write, by: By, known: readonly string[]): Promise<Prepared> => {
    const { dir, folder } = at
    const { file, content } = write
    const latest = journal.tip(dir, file)
    const found = latest?.hash === undefined ? folder.find(file) : folder.read(file)
    const before = found && presentOf(found)
    guard({ write, by, before, latest })
    const isClean = !before || isExactlyKept(latest, before)
    const beforeText = isClean ? (before?.text ?? '') : (await redact(before.text)).text
    if (content === null) {
      if (!before && write.leaves !== 'nothing') throw new MemoryError('NOT_FOUND', `there is no memory ${file}`)
      return { write, before, beforeText, judged: undefined }
    }
    const wish = { dir, file, content, before: before?.text ?? '', form: write.form ?? 'checked' } as const
    return { write, before, beforeText, judged: await judge.judge(wish, known) }
  }

  /** An index may hold a credential that a person put there: then its words are not kept. */
  const prepareIndexes = async ({ dir, folder }: Open, prepared: readonly Prepared[]): Promise<Indexes> => {
    const changes = indexChanges(folder, prepared)
    const clean = new Set<string>()
    let waited = false
    for (const { file, before } of changes) {
      const isClean = !before || isExactlyKept(journal.tip(dir, file), before)
      waited ||= !isClean
      if (isClean || (await redact(before.text)).kinds.length === 0) clean.add(before?.hash ?? '')
    }
    // Others may have written meanwhile.
    return { changes: waited ? indexChanges(folder, prepared) : changes, clean }
  }

  /** Commits to the journal, then writes: no waiting in between, so nobody sees a half. */
  const commit = (
    { dir, folder }: Open,
    prepared: readonly Prepared[],
    by: By,
    { changes: indexes, clean }: Indexes,
    along: Along | undefined,
  ): Applied[] => {
    // A glance is enough: each of them is read once more right before it is replaced.
    for (const { write, before } of prepared)
      if (!folder.isStill(write.file, before) && readPresent(folder, write.file)?.hash !== before?.hash)
        throw overtaken(write.file)
    const at = clock.now()
    const changes = prepared.map((each) => changeOf(dir, each, by, at))
    for (const { file, bytes } of indexes)
      if (bytes.length > CAP_BYTES)
        throw new MemoryError('REFUSED', `${file} would be larger than ${CAP_BYTES} bytes`, { reason: 'shape' })
    const parts = indexes.map((index) => indexPart(changes[0] as NewChange, index, clean))
    const ids = journal.append(
      changes.map((change, n) => (n === 0 ? { ...change, parts } : change)),
      applied,
      along?.before,
    )
    const steps = [
      ...prepared.map(({ write, before, judged }) => ({ file: write.file, before, content: judged?.content })),
      ...indexes.map(({ file, before, bytes }) => ({ file, before, content: bytes })),
    ]
    try {
      putAll(folder, steps)
    } catch (cause) {
      const error = placeTrouble(dir, cause)
      journal.withdraw(ids, `could not be written: ${message(error)}`, along?.takeBack)
      throw error
    }
    applied = Math.max(applied, ...ids, (ids[0] ?? 0) + parts.length)
    // At once: a change that is on disk must not be repeated over what a person does next.
    journal.setApplied(applied)
    return prepared.map(({ write, before, judged }, n) => ({
      id: ids[n] as number,
      file: write.file,
      hash: changes[n]?.after?.hash,
      created: !before,
      redacted: judged?.redacted ?? [],
      advice: judged?.advice ?? [],
    }))
  }

  /** What is refused here leaves no directory behind. */
  const checkName = async ({ file }: Write): Promise<void> => {
    judge.checkName(file)
    await judge.refuseTelling(file)
  }

  /** Only an index is held against what there is: a directory of thousands need not be listed for every file of it. */
  const knownTo = (dir: string, writes: readonly Write[]): string[] =>
    writes.some(({ file }) => isIndex(file)) ? [...journal.files(dir), ...writes.map(({ file }) => file)] : []

  const prepareAll = async (at: Open, writes: readonly Write[], by: By): Promise<Prepared[]> => {
    const known = knownTo(at.dir, writes)
    const prepared: Prepared[] = []
    for (const write of writes) prepared.push(await recorded(at.dir, write, by, () => prepare(at, write, by, known)))
    return prepared
  }

  /** That something was refused is worth knowing. */
  const recorded = async <T>(dir: string, { file }: Write, by: By, act: () => Promise<T>): Promise<T> => {
    try {
      return await act()
    } catch (error) {
      if (isRefusal(error)) {
        const refusal = { at: clock.now(), dir, file, why: whyRefused(error), by }
        journal.append([await refusalOf(refusal, redact)], applied)
      }
      throw error
    }
  }

  const check = async (dir: string, write: Write, by: By): Promise<void> => {
    await checkName(write)
    await opened(dir, isPlace, (at) => prepare(at, write, by, knownTo(at.dir, [write])))
  }

  /** For whoever is alone with the directory. */
  const apply = async (dir: string, given: readonly Write[], by: By, along?: Along): Promise<Applied[]> => {
    const told = await withoutCredentials(by, redact)
    const writes = await Promise.all(given.map((write) => becauseTold(write, told, redact)))
    const files = writes.map(({ file }) => file)
    for (const write of writes) await recorded(dir, write, told, () => checkName(write))
    const done = await opened(dir, isPlace, async (at) => {
      const prepared = await prepareAll(at, writes, told)
      return commit(at, prepared, told, await prepareIndexes(at, prepared), along)
    })
    if (files.length > 0) onChange(dir, files, told)
    return done
  }

  return {
    alone,
    record: (changes) => {
      const ids = journal.append(changes, applied)
      applied = Math.max(applied, ...ids)
      journal.setApplied(applied)
    },
    check,
    admit: async (dir, write, by) =>
      recorded(dir, write, await withoutCredentials(by, redact), () => check(dir, write, by)),
    apply: (dir, writes, by) => alone(dir, (now) => now(writes, by)),
  }
}

/** What the journal keeps byte for byte holds no credential: it was looked through. */
function isExactlyKept(latest: Tip | undefined, { hash }: Present): boolean {
  return latest?.exact === true && latest.hash === hash
}

async function becauseTold(write: Write, { actor }: By, redact: Redact): Promise<Write> {
  if (!write.because) return write
  const { reason, evidence } = await withoutCredentials({ actor, ...write.because }, redact)
  return { ...write, because: { reason, evidence } }
}

async function opened<T>(dir: string, isPlace: Deps['isPlace'], act: (at: Open) => Promise<T>): Promise<T> {
  const folder = openIn(dir, isPlace)
  try {
    return await act({ dir, folder })
  } catch (error) {
    throw placeTrouble(dir, error)
  } finally {
    folder.close()
  }
}

/** An index that is written itself says what whoever wrote it wants it to say. */
function indexChanges(folder: Confined, prepared: readonly Prepared[]): IndexChange[] {
  const memories = prepared.map(pointing)
  const written = new Set(memories.map(({ file }) => file))
  return upkeep(
    folder,
    memories.filter(({ file }) => !isIndex(file) && !written.has(indexOf(file))),
  )
}

function pointing({ write, judged }: Prepared): Pointed {
  return { file: write.file, content: judged?.content }
}

function overtaken(file: string): MemoryError {
  return new MemoryError('CONFLICT', `${file} was changed by somebody else just now`, { hint: 'read it again' })
}

/** A change as the journal keeps it: of a memory, and of the index that points to it. Pure. */

export function changeOf(dir: string, { write, before, beforeText, judged }: Prepared, by: By, at: number): NewChange {
  const { leaves = 'history' } = write
  const exact = !before || (before.exact && before.text === beforeText)
  const past = before && { hash: before.hash, text: leaves === 'nothing' ? undefined : beforeText, exact }
  const after = judged && { hash: hashOf(judged.content), text: judged.content, exact: true }
  const op = by.op ?? (!after ? 'delete' : before ? 'update' : 'create')
  // A credential was taken out of what is kept, or bytes were lost in reading it as text: it cannot be put back as it was.
  const undoable = leaves !== 'nothing' && exact
  const { actor, runId } = by
  const { reason, evidence = [] } = write.because ?? by
  return { at, dir, file: write.file, op, actor, reason, runId, before: past, after, undoable, evidence, leaves }
}

/** `clean`: hashes of indexes that hold no credential; the words of others are not kept. */
export function indexPart(owner: NewChange, index: IndexChange, clean: Set<string>): NewChange {
  const { file, before, text, bytes } = index
  const keep = clean.has(before?.hash ?? '')
  return {
    ...owner,
    leaves: 'history',
    file,
    op: before ? 'update' : 'create',
    before: before && { hash: before.hash, text: keep ? before.text : '', exact: keep && before.exact },
    after: { hash: hashOf(bytes), ...(keep ? { text, bytes, exact: true } : { text: '', exact: false }) },
    undoable: keep && (before?.exact ?? true),
    evidence: [],
  }
}
