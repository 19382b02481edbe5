/** Turns that a harness hands over: kept as a transcript of our own where it writes none, and read from its file where it does. */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { TurnPushed, TurnRequest } from '../../schema/session.ts'
import type { Clock } from '../platform/clock.ts'
import { syncPath } from '../platform/files.ts'
import { createInTurn } from '../platform/queue.ts'
import { safeId } from '../platform/text.ts'
import { id, parseLine, text } from './formats/fields.ts'
import type { Root, Source } from './formats/formats.ts'
import type { Anywhere } from './import-folder.ts'
import { cleanName, pathHasSecret, type Redact } from './ingest.ts'
import { endIdOf, type PushedTurn } from './pushed-lines.ts'
import type { Cursor, Tail } from './tail.ts'

type Deps = {
  /** Where turns are kept, as a root of the generic form. */
  root: Root
  tail: Tail
  anywhere: Anywhere
  redact: Redact
  /** Where it takes as long as it takes. */
  linesOf: (turn: PushedTurn) => Promise<string[]>
  /** There is something new in it: resolves once it was read. */
  onNews: (source: Source) => Promise<unknown>
  /** Jobs that are about a session and not over, or came up since then. */
  jobsOf: (session: SessionKey, sinceMs: number) => string[]
  /** Why a harness's own request is not gone on from, if it is not. */
  handOver: (session: SessionKey, prefix: NonNullable<TurnRequest['prefix']>) => Promise<string | undefined>
  projectOf: (cwd: string, caller: Caller) => { root: string; off: string | undefined }
  clock: Clock
}

export type Pushing = {
  push(turn: TurnRequest, caller: Caller): Promise<TurnPushed>
  /** A harness says that it has written: resolves once that was read, or cannot be. */
  written(path: string): Promise<void>
}

type SessionKey = { harness: string; sessionId: string }

const MOST_KNOWN = 64
/** Whoever hands over a turn goes on, whether it was read by then or not. */
const WAIT_MS = 1_000

export function createPushing(deps: Deps): Pushing {
  const { root, tail, anywhere, redact, linesOf, onNews, jobsOf, handOver, projectOf, clock } = deps
  const known = new Map<string, Pushed>()
  const inTurn = createInTurn()

  const pushedIn = async (path: string): Promise<Pushed> => {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
    const before = known.get(path)
    if (before && before.inode === String(stats?.ino) && before.sizeBytes === Number(stats?.size)) return before
    return scanPushed(tail, path)
  }

  const remember = (path: string, pushed: Pushed) => {
    known.delete(path)
    known.set(path, pushed)
    const [oldest] = known.keys()
    if (known.size > MOST_KNOWN && oldest !== undefined) known.delete(oldest)
  }

  const keep = async ({ cwd, harness, messages = [], ...named }: TurnRequest): Promise<Source> => {
    for (const [what, value] of Object.entries({ cwd, harness }))
      if (await pathHasSecret(value, redact)) throw secretIn(what)
    const sessionId = await cleanName(named.sessionId, redact)
    const turnId = await cleanName(named.turnId, redact)
    const path = `${root.path}/${safeId(harness)}/${safeId(sessionId)}/pushed.jsonl`
    // Each has to know what the one before has written.
    await inTurn(path, async () => {
      const pushed = await pushedIn(path)
      if (!pushed.ids.has(endIdOf(turnId))) {
        const atMs = clock.now()
        const lines = await linesOf({ turnId, messages, atMs })
        const session = JSON.stringify({ type: 'session', id: sessionId, cwd, at: atMs })
        const written = appendLines(path, pushed.cwd === cwd ? lines : [session, ...lines])
        pushed.ids.add(endIdOf(turnId))
        Object.assign(pushed, written, { cwd })
      }
      remember(path, pushed)
    })
    return { harness: root.harness, root: root.path, path }
  }

  const follow = (path: string): Source => {
    const source = path.endsWith('.jsonl') ? anywhere.sourceAt(path, { dir: root.path, harness: undefined }) : undefined
    if (source && !('left' in source)) return source
    throw new MemoryError('BAD_REQUEST', `transcriptPath: ${path} is no transcript (${source?.left ?? 'its name'})`, {
      hint: 'push the messages instead',
    })
  }

  return {
    written: async (path) => void (await onNews(follow(path))),
    push: async (turn, caller) => {
      const { root: project, off } = projectOf(turn.cwd, caller)
      if (off !== undefined)
        throw new MemoryError('MEMORY_OFF', `memory is off for ${project}: ${off}`, {
          hint: 'switch it on again, or resume',
        })
      if (turn.transcriptPath === undefined && !turn.messages?.length)
        throw new MemoryError('BAD_REQUEST', 'messages: expected some, or a transcriptPath where they stand')
      const sinceMs = clock.now()
      const source = turn.transcriptPath === undefined ? await keep(turn) : follow(turn.transcriptPath)
      const session = { harness: turn.harness, sessionId: await cleanName(turn.sessionId, redact) }
      // Before the turn is read: a job that it makes due may be begun at once.
      const skipped = turn.prefix && (await handOver(session, turn.prefix))
      await Promise.race([onNews(source), clock.delay(WAIT_MS)])
      return { jobIds: jobsOf(session, sinceMs), ...(skipped !== undefined && { prefixSkipped: skipped }) }
    },
  }
}

/** They are kept as they are, or not at all. */
function secretIn(what: string): MemoryError {
  return new MemoryError('REFUSED', `${what}: it holds what looks like a credential`, {
    reason: 'secret',
    hint: 'give it another name',
  })
}

/**
 * `<state>/sessions/<harness>/<id>/pushed.jsonl`: turns of harnesses that write no files. Appends whole turns, and none
 * twice; what a kill left half written was never acknowledged and is cut off.
 */

/** What is known of a file as long as nobody else has touched it. */
export type Pushed = FileLook & { ids: Set<string>; cwd: string | undefined }

export type FileLook = { inode: string; sizeBytes: number }

const OPEN = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW
const SLICE_BYTES = 1_000_000
const LF = 0x0a

/** Which turns are in it already, by the ids of their ends. */
export async function scanPushed(tail: Tail, path: string): Promise<Pushed> {
  const known: Pushed = { inode: '', sizeBytes: 0, ids: new Set(), cwd: undefined }
  let cursor: Cursor | undefined
  for (let more = true; more; ) {
    const slice = tail.readSlice(path, cursor, { capBytes: SLICE_BYTES })
    if (!('cursor' in slice)) return known
    for (const line of slice.lines) {
      const record = parseLine(line.text)
      const ended = record?.type === 'end' ? id(record.id) : undefined
      if (ended !== undefined) known.ids.add(ended)
      if (record?.type === 'session' && text(record.cwd) !== '') known.cwd = text(record.cwd)
    }
    cursor = slice.cursor
    known.inode = cursor.inode
    known.sizeBytes = cursor.sizeBytes
    more = slice.more
    await turn()
  }
  return known
}

/** After this returns they are on disk, all of them; if it throws, none is. Gives the file as it is then. */
export function appendLines(path: string, lines: readonly string[]): FileLook {
  const made = mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const fd = openSync(path, OPEN, 0o600)
  try {
    const before = wholeLines(fd)
    const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
    try {
      for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done)
      fsyncSync(fd)
    } catch (error) {
      ftruncateSync(fd, before)
      throw error
    }
    if (before === 0) syncFolders(dirname(path), made ?? dirname(path))
    return { inode: String(fstatSync(fd, { bigint: true }).ino), sizeBytes: before + bytes.length }
  } finally {
    closeSync(fd)
  }
}

/** Cuts off what has no end of line. */
function wholeLines(fd: number): number {
  const { size } = fstatSync(fd)
  const chunk = Buffer.alloc(65_536)
  for (let end = size; end > 0; ) {
    const from = Math.max(0, end - chunk.length)
    const bytes = chunk.subarray(0, readSync(fd, chunk, 0, end - from, from))
    const last = bytes.lastIndexOf(LF)
    if (last !== -1) {
      const whole = from + last + 1
      if (whole < size) ftruncateSync(fd, whole)
      return whole
    }
    end = from
  }
  if (size > 0) ftruncateSync(fd, 0)
  return 0
}

/** A new file is there for good once its folder says so, and that one's folder, up to what was there before. */
function syncFolders(folder: string, made: string): void {
  syncPath(folder)
  if (folder !== dirname(made) && folder.startsWith(dirname(made))) syncFolders(dirname(folder), made)
}
