/** The only writer of memory files. The journal is the commit point: a change in it happens, at the latest at the next start. */
import { MemoryError } from '../../schema/errors.ts'
import type { Core } from '../core.ts'
import { isDiskError } from '../platform/disk.ts'
import { message } from '../platform/files.ts'
import { createInTurn } from '../platform/queue.ts'
import { CAP_BYTES, hashOf, isCode, NEW_MODE } from '../platform/safe-folder.ts'
import type { Projects } from '../projects/projects.ts'
import { redact } from '../secrets/redact.ts'
import { indexOf, isIndex, twinKey } from './file-names.ts'
import {
  createListings,
  explainDiskError,
  inFolder,
  type MemoryFile,
  type MemoryFolder,
  openMemoryFolder,
} from './folder.ts'
import { type IndexChange, upkeep } from './index-file.ts'
import type { Journal, NewChange } from './journal.ts'
import { finishChanges } from './recovery.ts'
import type { NewReview, Reviews } from './review.ts'
import {
  type Accepted,
  type Author,
  isKeptExactly,
  isRefusal,
  refusalOf,
  type Write,
  type WriteChecks,
  whyRefused,
  withoutCredentials,
} from './write-checks.ts'

export type Written = {
  id: number
  file: string
  hash: string | undefined
  created: boolean
  redacted: string[]
  advice: string[]
}

/** Runs first in the transaction that commits; what it returns runs in the one that takes the change back. */
export type InTransaction = () => (() => void) | undefined

/** Writes of one author in one directory that happen together or not at all. */
export type Batch = {
  /** Throws a refusal. */
  add(write: Write): Promise<Accepted>
  /** A refusal is recorded before it is thrown. */
  addRecorded(write: Write): Promise<Accepted>
  /** A refusal is recorded and answered with `false`. */
  offer(write: Write): Promise<boolean>
  commit(inTransaction?: InTransaction): Promise<Written[]>
  /** Instead of `commit`: all of it waits for a person. */
  hold(inTransaction?: () => void): number[]
}

type Change<T> = (batch: Batch) => Promise<T>

export type Writer = ReturnType<typeof createWriter>

export type OnChange = (dir: string, files: string[], actor: string) => void

export function createWriter(core: Core, projects: Projects, journal: Journal, reviews: Reviews, checks: WriteChecks) {
  const { clock, disk } = core
  const listeners: OnChange[] = []
  const inTurn = createInTurn()
  const listings = createListings()

  const tell = (dir: string, files: string[], actor: string) => {
    if (files.length > 0) for (const listener of listeners) listener(dir, files, actor)
  }
  /** The change is done: where the mark cannot be written, the next change writes it. */
  const settle = () => {
    try {
      journal.settle()
    } catch (error) {
      if (!disk.blames(error)) throw error
    }
  }
  /** What was left half done comes first: else its files would be taken for edits of another program. */
  const finishOpen = (dir: string) => {
    const open = journal.openIn(dir)
    if (open.length === 0) return
    try {
      finishChanges(journal, dir, open, projects.isMemoryDir)
    } catch (error) {
      throw halfDone(`an earlier change in ${dir} was written only in part`, error)
    }
    settle()
    for (const { file, actor } of open) tell(dir, [file], actor)
  }
  const isWell = (dir: string): boolean => {
    try {
      finishOpen(dir)
      inFolder(dir, ({ probe }) => probe(), { mayBeAt: projects.isMemoryDir })
      return true
    } catch {
      return false
    }
  }
  const alone = <T>(dir: string, work: () => Promise<T>): Promise<T> =>
    inTurn(dir, async () => {
      finishOpen(dir)
      return work()
    })

  /** An index may hold a credential that a person put there: its text is kept only where `clean` has its hash. */
  const indexChanges = async (dir: string, folder: MemoryFolder, accepted: readonly Accepted[]) => {
    const changes = pointersChanged(folder, accepted)
    const clean = new Set<string>()
    let waited = false
    for (const { file, before } of changes) {
      const isClean = !before || isKeptExactly(journal.tip(dir, file), before)
      waited ||= !isClean
      if (isClean || (await redact(before.text)).kinds.length === 0) clean.add(before?.hash ?? '')
    }
    // Another program may have written meanwhile.
    const indexes = waited ? pointersChanged(folder, accepted) : changes
    for (const { file, bytes } of indexes)
      if (bytes.length > CAP_BYTES)
        throw new MemoryError('REFUSED', `${file} would be larger than ${CAP_BYTES} bytes`, { reason: 'shape' })
    return { indexes, clean }
  }

  /** Within `alone`. The folder is opened with the first write whose name may be: a refusal leaves no folder behind. */
  const batch = async <T>(dir: string, given: Author, work: Change<T>): Promise<T> => {
    const author = await withoutCredentials(given)
    const accepted: Accepted[] = []
    let opened: MemoryFolder | undefined

    const add = async (write: Write): Promise<Accepted> => {
      await checks.checkName(write.file)
      const because = write.because && (await withoutCredentials({ actor: author.actor, ...write.because }))
      opened ??= openMemoryFolder(dir, { mayBeAt: projects.isMemoryDir, listings })
      const each = await checks.check(dir, opened, because ? { ...write, because } : write, author)
      accepted.push(each)
      return each
    }

    const addRecorded = async (write: Write): Promise<Accepted> => {
      try {
        return await add(write)
      } catch (error) {
        if (isRefusal(error)) {
          const refusal = { at: clock.now(), dir, file: write.file, why: whyRefused(error), author }
          journal.append([await refusalOf(refusal)])
        }
        throw error
      }
    }

    const offer = async (write: Write): Promise<boolean> => {
      try {
        await addRecorded(write)
        return true
      } catch (error) {
        if (isRefusal(error)) return false
        throw error
      }
    }

    const commit = async (inTransaction?: InTransaction): Promise<Written[]> => {
      const folder = opened ?? openMemoryFolder(dir, { mayBeAt: projects.isMemoryDir, listings })
      opened = folder
      const { indexes, clean } = await indexChanges(dir, folder, accepted)
      // No await from here on: no reader sees half a change. Each file is compared once more when it is replaced.
      for (const { write, before } of accepted)
        if (!folder.isStill(write.file, before) && folder.read(write.file)?.hash !== before?.hash)
          throw new MemoryError('CONFLICT', `${write.file} was changed just now by another program`, {
            hint: 'read it again',
          })
      const at = clock.now()
      const changes = accepted.map((each) => changeOf(dir, each, author, at))
      const [first, ...rest] = changes
      const parts = first && indexes.map((index) => indexPart(first, index, clean))
      let onRollback: (() => void) | undefined
      const ids = journal.append(first ? [{ ...first, ...(parts && { parts }) }, ...rest] : [], () => {
        onRollback = inTransaction?.()
      })
      const steps = [
        ...accepted.map(({ write, before, after }) => ({ file: write.file, before, content: after?.content })),
        ...indexes.map(({ file, before, bytes }) => ({ file, before, content: bytes })),
      ]
      try {
        putAll(folder, steps)
      } catch (cause) {
        const [failure, notPutBack] = cause instanceof AggregateError ? cause.errors : [cause]
        const error = explainDiskError(dir, failure)
        try {
          if (notPutBack) throw explainDiskError(dir, notPutBack)
          journal.withdraw(ids, `could not be written: ${message(error)}`, onRollback)
        } catch (lasting) {
          journal.leaveOpen(ids)
          disk.tryUntil(dir, () => isWell(dir))
          throw halfDone(`the change in ${dir} was written only in part, and may still happen`, lasting)
        }
        throw error
      }
      // At once: recovery must not repeat the change over a later edit of a person.
      settle()
      const files = accepted.map(({ write }) => write.file)
      tell(dir, files, author.actor)
      return accepted.map(({ write, before, after }, n) => ({
        id: ids[n] as number,
        file: write.file,
        hash: changes[n]?.after?.hash,
        created: !before,
        redacted: after?.redacted ?? [],
        advice: after?.advice ?? [],
      }))
    }

    try {
      return await work({
        add,
        addRecorded,
        offer,
        commit,
        hold: (inTransaction) => {
          const at = clock.now()
          const held = accepted.map((each) => reviewOf(dir, each, author, at))
          return reviews.addAll(held, inTransaction)
        },
      })
    } catch (error) {
      throw explainDiskError(dir, error)
    } finally {
      opened?.close()
    }
  }

  const change = <T>(dir: string, author: Author, work: Change<T>): Promise<T> =>
    alone(dir, () => batch(dir, author, work))

  return {
    alone,
    change,
    write: (dir: string, writes: readonly Write[], author: Author, inTransaction?: InTransaction): Promise<Written[]> =>
      change(dir, author, async (batch) => {
        for (const write of writes) await batch.addRecorded(write)
        return batch.commit(inTransaction)
      }),
    check: (dir: string, write: Write, author: Author) => batch(dir, author, ({ add }) => add(write)),
    /** Whether the disk of a directory is the cause. Once that takes writes again, jobs that were postponed are woken. */
    blames: (dir: string, error: unknown): boolean => {
      const isCause = isDiskError((error as { cause?: unknown } | undefined)?.cause)
      if (isCause) disk.tryUntil(dir, () => isWell(dir))
      return isCause
    },
    onChange: (listener: OnChange) => void listeners.push(listener),
  }
}

/** An index that is written itself is left as its writer wants it. */
function pointersChanged(folder: MemoryFolder, accepted: readonly Accepted[]): IndexChange[] {
  const memories = accepted.map(({ write, after }) => ({ file: write.file, content: after?.content }))
  const written = new Set(memories.map(({ file }) => file))
  const pointed = memories.filter(({ file }) => !isIndex(file) && !written.has(indexOf(file)))
  return upkeep(folder, pointed)
}

function changeOf(dir: string, { write, before, beforeText, after }: Accepted, author: Author, at: number): NewChange {
  const { file, leaves = 'history' } = write
  const isExact = !before || (before.isText && before.text === beforeText)
  const { actor, runId } = author
  const { reason, evidence = [] } = write.because ?? author
  return {
    ...{ at, dir, file, actor, reason, runId, evidence, leaves },
    op: author.op ?? (!after ? 'delete' : before ? 'update' : 'create'),
    before: before && { hash: before.hash, text: leaves === 'nothing' ? undefined : beforeText },
    after: after && { hash: hashOf(after.content), text: after.content },
    // Not where a credential was taken out, or bytes were lost in reading them as text.
    undoable: leaves !== 'nothing' && isExact,
  }
}

function indexPart(owner: NewChange, index: IndexChange, clean: ReadonlySet<string>): NewChange {
  const { file, before, text, bytes } = index
  const isKept = clean.has(before?.hash ?? '')
  return {
    ...owner,
    leaves: 'history',
    file,
    op: before ? 'update' : 'create',
    before: before && { hash: before.hash, text: isKept ? before.text : '' },
    after: { hash: hashOf(bytes), text: isKept ? text : '' },
    undoable: isKept && (before?.isText ?? true),
    evidence: [],
  }
}

function reviewOf(dir: string, { write, before, beforeText, after }: Accepted, author: Author, at: number): NewReview {
  const { reason, evidence = [] } = write.because ?? author
  return {
    ...{ at, dir, file: write.file, actor: author.actor, reason, runId: author.runId, evidence },
    op: !after ? 'delete' : before ? 'update' : 'create',
    baseHash: before?.hash,
    before: before && beforeText,
    after: after?.content,
  }
}

type Step = {
  file: string
  before: Pick<MemoryFile, 'hash' | 'bytes' | 'mode'> | undefined
  content: string | Buffer | undefined
}

/** All of them, each only over what was seen; what was written before one failed is put back, or an AggregateError says why not. */
export function putAll(folder: MemoryFolder, steps: readonly Step[]): void {
  const begun: Step[] = []
  try {
    for (const step of inOrder(steps)) {
      begun.push(step)
      put(folder, step)
    }
    folder.settle()
  } catch (error) {
    // On CONFLICT another program wrote this file: leave it. Any other error may come after our rename: undo it too.
    if (isCode(error, 'CONFLICT')) begun.pop()
    const lasting = begun.reverse().flatMap((step) => putBack(folder, step))
    throw lasting.length > 0 ? new AggregateError([error, ...lasting]) : error
  }
}

/** Deletions come last: as long as a write may fail, nothing has to come back. Only what is in the way of a write goes first. */
function inOrder(steps: readonly Step[]): readonly Step[] {
  const written = new Set(steps.flatMap(({ file, content }) => (content === undefined ? [] : [twinKey(file)])))
  const rank = ({ file, content }: Step) => (content !== undefined ? 1 : written.has(twinKey(file)) ? 0 : 2)
  return [...steps].sort((a, b) => rank(a) - rank(b))
}

function put(folder: MemoryFolder, { file, before, content }: Step): void {
  if (content === undefined) {
    if (before) folder.remove(file, { expect: before.hash, mode: before.mode })
    return
  }
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  folder.write(file, bytes, { expect: before?.hash ?? null, mode: before?.mode ?? NEW_MODE, settle: 'later' })
}

/** To the byte, over nothing but what we wrote. Returns what keeps it from that. */
function putBack(folder: MemoryFolder, { file, before, content }: Step): unknown[] {
  try {
    // On a full disk: what is as it was needs no room.
    if (folder.read(file)?.hash === before?.hash) return []
    if (content === undefined) {
      if (before) folder.write(file, before.bytes, { expect: null, mode: before.mode })
    } else if (before) folder.write(file, before.bytes, { expect: hashOf(content) })
    else folder.remove(file, { expect: hashOf(content) })
    return []
  } catch (error) {
    return isCode(error, 'CONFLICT') ? [] : [error]
  }
}

export function halfDone(what: string, cause: unknown): MemoryError {
  return new MemoryError('DEGRADED', `${what}: ${message(cause)}`, {
    hint: 'it is finished as soon as the disk allows, before anything else is written there',
    cause: (cause as { cause?: unknown }).cause ?? cause,
  })
}
