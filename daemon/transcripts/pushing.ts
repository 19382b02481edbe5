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
  /** There is something new in it. */
  onNews: (source: Source) => void
  projectOf: (cwd: string, caller: Caller) => { root: string; off: string | undefined }
  clock: Clock
}

export type Pushing = { push(turn: TurnRequest, caller: Caller): Promise<TurnPushed> }

const MOST_KNOWN = 64

export function createPushing({ root, tail, anywhere, redact, linesOf, onNews, projectOf, clock }: Deps): Pushing {
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

  const keep = async ({ cwd, harness, messages = [], ...named }: TurnRequest) => {
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
    onNews({ harness: root.harness, root: root.path, path })
  }

  const follow = (path: string) => {
    const source = path.endsWith('.jsonl') ? anywhere.sourceAt(path, { dir: root.path, harness: undefined }) : undefined
    if (source && !('left' in source)) return onNews(source)
    throw new MemoryError('BAD_REQUEST', `transcriptPath: ${path} is no transcript (${source?.left ?? 'its name'})`, {
      hint: 'push the messages instead',
    })
  }

  return {
    push: async (turn, caller) => {
      const { root: project, off } = projectOf(turn.cwd, caller)
      if (off !== undefined)
        throw new MemoryError('MEMORY_OFF', `memory is off for ${project}: ${off}`, {
          hint: 'switch it on again, or resume',
        })
      if (turn.transcriptPath !== undefined) follow(turn.transcriptPath)
      else if (turn.messages?.length) await keep(turn)
      else throw new MemoryError('BAD_REQUEST', 'messages: expected some, or a transcriptPath where they stand')
      return { jobIds: [] }
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
