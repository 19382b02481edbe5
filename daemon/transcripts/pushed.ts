/** Turns that a harness pushes: kept in a file of our own where it writes none. Only whole turns, and none twice. */
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
import { dirname, join } from 'node:path'
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { TurnRequest } from '../../schema/session.ts'
import type { Core } from '../core.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { syncPath } from '../platform/files.ts'
import { createLru } from '../platform/lru.ts'
import { createInTurn } from '../platform/queue.ts'
import { safeId, stampAt } from '../platform/text.ts'
import { memoryOff, type Projects } from '../projects/projects.ts'
import type { Fact, Message } from './formats/facts.ts'
import { id, parseLine, text } from './formats/fields.ts'
import type { Root, Source } from './formats/format.ts'
import { generic } from './formats/generic.ts'
import type { ImportFolders } from './import-folder.ts'
import { clean, cleanName } from './ingest.ts'
import type { ReadQueue } from './read-queue.ts'
import { createTail, LF, type Tail } from './tail.ts'

type KeptTurn = { session: { harness: string; sessionId: string }; source: Source; keptMs: number }

const MOST_KNOWN = 64
const READ_MS = 1_000

export function createPushedTurns(
  { clock, stateDir }: Core,
  projects: Projects,
  jobs: Jobs,
  folders: ImportFolders,
  queue: ReadQueue,
) {
  const root: Root = { harness: 'generic', path: join(stateDir, 'sessions') }
  const tail = createTail(clock)
  const known = createLru<string, Pushed>(MOST_KNOWN)
  const inTurn = createInTurn()

  const pushedIn = async (path: string): Promise<Pushed> => {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
    const before = known.get(path)
    if (before && before.inode === String(stats?.ino) && before.sizeBytes === Number(stats?.size)) return before
    return scanPushed(tail, path)
  }

  const append = async ({ cwd, harness, messages = [], ...named }: TurnRequest): Promise<Source> => {
    const sessionId = await cleanName(named.sessionId)
    const turnId = await cleanName(named.turnId)
    const path = `${root.path}/${safeId(harness)}/${safeId(sessionId)}/pushed.jsonl`
    await inTurn(path, async () => {
      const pushed = await pushedIn(path)
      if (!pushed.ids.has(endIdOf(turnId))) {
        const atMs = clock.now()
        const lines = await queue.lines({ turnId, messages, atMs })
        const session = JSON.stringify({ type: 'session', id: sessionId, cwd, at: atMs })
        const written = appendLines(path, pushed.cwd === cwd ? lines : [session, ...lines])
        pushed.ids.add(endIdOf(turnId))
        Object.assign(pushed, written, { cwd })
      }
      known.set(path, pushed)
    })
    return { harness: root.harness, root: root.path, path }
  }

  const sourceAt = (path: string): Source => {
    const source = path.endsWith('.jsonl') ? folders.sourceAt(path, { dir: root.path }) : undefined
    if (source && !('left' in source)) return source
    throw new MemoryError('BAD_REQUEST', `transcriptPath: ${path} is no transcript (${source?.left ?? 'its name'})`, {
      hint: 'push the messages instead',
    })
  }

  return {
    root,
    /** On disk when this resolves; it is not read yet. */
    keep: async (turn: TurnRequest, caller: Caller): Promise<KeptTurn> => {
      const { root: project, off } = projects.find(turn.cwd, caller)
      if (off !== undefined) throw memoryOff(project, off)
      if (turn.transcriptPath === undefined && !turn.messages?.length)
        throw new MemoryError('BAD_REQUEST', 'messages: expected some, or a transcriptPath where they stand')
      const keptMs = clock.now()
      const source = turn.transcriptPath === undefined ? await append(turn) : sourceAt(turn.transcriptPath)
      const session = { harness: turn.harness, sessionId: await cleanName(turn.sessionId) }
      return { session, source, keptMs }
    },
    /** The ids of the jobs that it made due, if it is read within `READ_MS`. */
    read: async ({ session, source, keptMs }: KeptTurn): Promise<string[]> => {
      await Promise.race([queue.read(source, 'live'), clock.delay(READ_MS)])
      return jobs.ofKey(['extract', 'notes'], `${session.harness} ${session.sessionId}`, keptMs)
    },
    written: async (path: string): Promise<void> => void (await queue.read(sourceAt(path), 'live')),
  }
}

type Pushed = { inode: string; sizeBytes: number; ids: Set<string>; cwd: string | undefined }

const OPEN = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW
const SLICE_BYTES = 1_000_000

async function scanPushed(tail: Tail, path: string): Promise<Pushed> {
  const known: Pushed = { inode: '', sizeBytes: 0, ids: new Set(), cwd: undefined }
  for await (const { lines, cursor } of tail.slices(path, { capBytes: SLICE_BYTES })) {
    for (const line of lines) {
      const record = parseLine(line.text)
      const ended = record?.type === 'end' ? id(record.id) : undefined
      if (ended !== undefined) known.ids.add(ended)
      if (record?.type === 'session' && text(record.cwd) !== '') known.cwd = text(record.cwd)
    }
    known.inode = cursor.inode
    known.sizeBytes = cursor.sizeBytes
  }
  return known
}

/** After this returns they are on disk, all of them; if it throws, none is. Gives the file as it is then. */
function appendLines(path: string, lines: readonly string[]): Pick<Pushed, 'inode' | 'sizeBytes'> {
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

/** A new file survives a power cut once its folder is synced, and every folder that was made for it. */
function syncFolders(folder: string, made: string): void {
  syncPath(folder)
  if (folder !== dirname(made) && folder.startsWith(dirname(made))) syncFolders(dirname(folder), made)
}

/** Pushed messages become lines of the generic form, with nothing private, nothing injected and no credential in them. */
export type PushedTurn = { turnId: string; messages: readonly object[]; atMs: number }

function endIdOf(turnId: string): string {
  return `${turnId}.end`
}

export async function pushedLines({ turnId, messages, atMs }: PushedTurn): Promise<string[]> {
  const records: object[] = []
  let aborted = false
  for (const [n, message] of messages.entries())
    for (const fact of generic.read(JSON.stringify(message))) {
      if (fact.kind === 'message' && fact.ends) aborted = fact.ends === 'aborted'
      records.push(...(await recordsOf(fact, { id: `${turnId}.${n + 1}`, atMs })))
    }
  const id = endIdOf(turnId)
  records.push({ type: 'end', id, at: atMs, ...(aborted && { end: 'aborted' }) })
  return records.map((record) => JSON.stringify(record))
}

type Defaults = { id: string; atMs: number }

async function recordsOf(fact: Fact, defaults: Defaults): Promise<object[]> {
  switch (fact.kind) {
    case 'message':
      return messageRecords(fact, defaults)
    case 'session': {
      const { branch, model, forkOf, interactive } = fact
      const names = { branch: await cleanName(branch), model: await cleanName(model), forkOf: await cleanName(forkOf) }
      return [{ type: 'session', ...names, interactive }]
    }
    case 'compacted':
      return [{ type: 'compaction', trigger: fact.trigger, at: fact.at ?? defaults.atMs }]
    case 'rewound':
      return [{ type: 'rewind', ...('from' in fact ? { from: await cleanName(fact.from) } : { turns: fact.turns }) }]
  }
  return []
}

async function messageRecords(message: Message, defaults: Defaults): Promise<object[]> {
  const type = typeOf(message)
  if (!type) return []
  const id = (await cleanName(message.id)) ?? defaults.id
  const parentId = await cleanName(message.parentId)
  const { at = defaults.atMs, minutesEast } = message
  // With its zone: what "tomorrow" means depends on it.
  const said = minutesEast === undefined ? at : stampAt(at, minutesEast)
  const common = { type, id, parentId, at: said, subAgent: await cleanName(message.subAgent) }
  if (type === 'tool') {
    const records: { id: string; callId: string; text: string }[] = []
    for (const [n, { callId, text }] of message.toolResults.entries())
      records.push({
        ...common,
        id: n > 0 ? `${id}.${n + 1}` : id,
        ...(n > 0 && parentId !== undefined && { parentId: records.at(-1)?.id }),
        callId: await cleanName(callId),
        text: await clean(text),
      })
    return records
  }
  const toolCalls = []
  for (const { id: callId, name, input } of message.toolCalls)
    toolCalls.push({ id: await cleanName(callId), name: await cleanName(name), input: await clean(input) })
  const { ends } = message
  return [
    {
      ...common,
      text: message.text === '' ? undefined : await clean(message.text),
      toolCalls: toolCalls.length > 0 ? toolCalls : undefined,
      answerId: type === 'assistant' ? await cleanName(message.answerId) : undefined,
      model: await cleanName(message.model),
      usage: message.usage,
      end: ends === 'final' || ends === 'aborted' ? ends : undefined,
    },
  ]
}

/** System messages are not kept; session facts and the end line carry what matters. */
function typeOf({ by, startsTurn }: Message): string | undefined {
  if (startsTurn) return 'user'
  return { person: 'user', agent: 'assistant', tool: 'tool', injected: 'context', system: undefined }[by]
}
