/** Turns that a harness hands over: kept as a transcript of our own where it writes none, and read from its file where it does. */
import { statSync } from 'node:fs'
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { TurnPushed, TurnRequest } from '../../schema/turn.ts'
import type { Clock } from '../platform/clock.ts'
import { createInTurn } from '../platform/in-turn.ts'
import { safeId } from '../platform/safe-id.ts'
import type { Anywhere } from './anywhere.ts'
import { cleanName, pathHasSecret, type Redact } from './clean.ts'
import { appendLines, type Pushed, scanPushed } from './pushed-file.ts'
import { endIdOf, type PushedTurn } from './pushed-lines.ts'
import type { Root, Source } from './source.ts'
import type { Tail } from './tail.ts'

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
