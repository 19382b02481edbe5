/**
 * Agents at work, as a daemon sees them: hooks, questions, memories and transcripts that grow. One process plays all of them: what
 * the load itself costs must stay small beside the daemon.
 */
import { appendFileSync, mkdirSync, renameSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { routeTable } from '../../schema/route-table.ts'
import { openConnection, postFor, requestFor } from './connection.ts'
import type { Home } from './daemon.ts'
import { makeMemories, pick, QUALITIES, SUBJECTS } from './made-memories.ts'
import { makeTranscripts, numbersFrom } from './made-transcripts.ts'
import { quantile } from './rounds.ts'

/** A hook is late when the prompt of a person waits for it. */
export const LATE_MS = 250

const PROJECTS = 8
const MEMORIES = 200
/** A prompt, two tools and the end of the turn: people prompt less often, but agents use more tools. */
export const TURN_MS = 2_000
const TURNS_PER_SESSION = 15
const TURNS_PER_SEARCH = 10
const TURNS_PER_REMEMBERED = 200
const TURNS_PER_STATED = 50
const TOOL_RESULT_CHARS = 3_000
const LOOK_MS = 20

type Kind = 'hook' | 'recall' | 'search' | 'remember' | 'health'

/** What requests of a kind took, in ms, in the order in which they were answered. */
export type Taken = Record<Kind, number[]>

export type Agents = ReturnType<typeof startAgents>

/** Before the daemon starts. */
export function makeProjects(home: Home): string[] {
  const folders = Array.from({ length: PROJECTS }, (_, n) => join(home.dir, `work-${n}`))
  for (const cwd of folders) makeMemories(home, cwd, MEMORIES)
  return folders
}

const MESSAGES_PER_FILE = 500
/** Of made-up messages, which are a second apart, the time of the first. */
const FIRST_MS = 1_790_000_000_000
/** So fresh that what is stated in them is learned. */
const DAYS_AGO_MS = 3 * 86_400_000

/** Transcripts of 1.15 MB each, of a few days ago, which come into the daemon's sight as the caller says. */
export function makeBacklog(home: Home, files: number) {
  const [root, cwd] = [join(home.dir, 'aside'), join(home.dir, 'elsewhere')]
  mkdirSync(cwd)
  const from = Math.round((Date.now() - FIRST_MS - DAYS_AGO_MS) / 1_000)
  const { file } = makeTranscripts({ root, cwd, files, messagesPerFile: MESSAGES_PER_FILE, from })
  const folder = join(home.dir, '.claude/projects/elsewhere')
  mkdirSync(folder)
  let arrived = 0
  return {
    arrive: (more: number): void => {
      const end = Math.min(files, arrived + more)
      for (; arrived < end; arrived++) renameSync(file(arrived), join(folder, basename(file(arrived))))
    },
  }
}

/** `turnMs`: how long a turn takes where answers take no time; with nothing, each agent asks as soon as it is answered. */
export function startAgents(
  home: Home,
  projects: readonly string[],
  { count, turnMs }: { count: number; turnMs: number },
) {
  const nothing = (): Taken => ({ hook: [], recall: [], search: [], remember: [], health: [] })
  let taken = nothing()
  let failed: string[] = []
  let isStopped = false
  const ended: Promise<void>[] = []

  /** Each on a connection of its own, as hooks come. */
  const ask = async (kind: Kind, request: Buffer): Promise<void> => {
    const sentMs = performance.now()
    try {
      const connection = await openConnection(home.socketPath)
      await connection.ask(request)
      taken[kind].push(performance.now() - sentMs)
      connection.close()
    } catch (error) {
      failed.push(`${kind}: ${(error as Error).message}`)
    }
  }

  const until = (atMs: number) =>
    new Promise<void>((resolve) => setTimeout(resolve, Math.max(1, atMs - performance.now())))

  const agent = async (n: number): Promise<void> => {
    const next = numbersFrom(n)
    const cwd = projects[n % projects.length] as string
    let startMs = performance.now() + (turnMs * n) / count
    for (let turns = 0; !isStopped; turns++) {
      const session = openSession(home, cwd, `${n}-${Math.floor(turns / TURNS_PER_SESSION)}`)
      const hook = (event: string, more: object = {}) => ask('hook', session.hook(event, more))
      const at = (share: number) => until(startMs + share * turnMs)
      await at(0)
      if (turns % TURNS_PER_SESSION === 0) await hook('SessionStart', { source: 'startup' })
      const said = promptOf(next(), turns)
      await hook('UserPromptSubmit', { prompt: said })
      session.write(session.prompt(turns, said))
      await at(0.15)
      await ask('recall', postFor(routeTable.recall, { cwd, query: questionOf(next()), mode: 'local' }))
      for (const tool of [1, 2]) {
        await at(0.3 * tool)
        session.write(session.tool(turns, tool, next()))
        await hook('PostToolUse', { tool_name: 'Bash', tool_input: { command: 'npm test' } })
      }
      if (turns % TURNS_PER_SEARCH === n % TURNS_PER_SEARCH)
        await ask(
          'search',
          requestFor(routeTable.search, { q: `${pick(SUBJECTS, next())} ${pick(QUALITIES, next())}`, cwd }),
        )
      if (turns % TURNS_PER_REMEMBERED === n % TURNS_PER_REMEMBERED)
        await ask(
          'remember',
          postFor(routeTable.remember, { cwd, text: `The ${questionOf(next())} is settled: see ${n}-${turns}.` }),
        )
      await at(0.9)
      session.write(session.answer(turns))
      await hook('Stop')
      if (turns % TURNS_PER_SESSION === TURNS_PER_SESSION - 1) await hook('SessionEnd', { reason: 'other' })
      // Not the time that answers took: agents that were held up would ask less.
      startMs += turnMs * (0.75 + (next() % 500) / 1_000)
      startMs = Math.max(startMs, performance.now())
    }
  }

  /** Who waits for the main thread waits as long as this one at most. */
  const look = async (): Promise<void> => {
    for (; !isStopped; await until(performance.now() + LOOK_MS)) await ask('health', requestFor(routeTable.health))
  }

  for (let n = 0; n < count; n++) ended.push(agent(n))
  ended.push(look())

  return {
    /** Since the last time. */
    take: () => {
      const result = { taken, failed }
      taken = nothing()
      failed = []
      return result
    },
    stop: async (): Promise<void> => {
      isStopped = true
      await Promise.all(ended)
    },
  }
}

export function lateShare({ hook }: Taken): number {
  return hook.filter((ms) => ms > LATE_MS).length / hook.length
}

export function longest(taken: readonly number[]): number {
  return quantile(taken, 1)
}

function questionOf(n: number): string {
  return `${pick(QUALITIES, n)} ${pick(SUBJECTS, n >> 4)} of unit${(n % MEMORIES).toString(36)}`
}

function promptOf(n: number, turns: number): string {
  const asked = `please look at the ${questionOf(n)}, and tell me why it is slow when the ${pick(SUBJECTS, n >> 8)} is full`
  if (turns % TURNS_PER_STATED !== n % TURNS_PER_STATED) return asked
  return `${asked}. From now on always run the ${pick(SUBJECTS, n >> 12)} check before you commit.`
}

/** In the form of Claude Code. */
function openSession(home: Home, cwd: string, name: string) {
  const id = `00000000-0000-4000-8000-${name.replace('-', 'a').padStart(12, '0')}`
  const path = join(home.dir, '.claude/projects', cwd.replaceAll(/[^A-Za-z0-9]/g, '-'), `${id}.jsonl`)
  mkdirSync(dirname(path), { recursive: true })
  const line = (type: 'user' | 'assistant', uuid: string, message: object) => ({
    ...{ isSidechain: false, userType: 'external', cwd, sessionId: id, version: '2.1.0', type, message },
    ...{ uuid: `${id}-${uuid}`, parentUuid: null, timestamp: new Date().toISOString() },
  })
  const said = (uuid: string, content: object[], stop_reason: string) =>
    line('assistant', uuid, { id: `msg_${uuid}`, role: 'assistant', model: 'm-1', content, stop_reason })
  return {
    hook: (event: string, more: object): Buffer => {
      const url = routeTable.hook.url.replace(':harness', 'claude-code')
      const input = { hook_event_name: event, session_id: id, cwd, transcript_path: path, ...more }
      return postFor({ ...routeTable.hook, url }, input)
    },
    write: (lines: readonly object[]): void =>
      appendFileSync(path, lines.map((each) => `${JSON.stringify(each)}\n`).join('')),
    prompt: (turn: number, text: string) => [line('user', `${turn}-q`, { role: 'user', content: text })],
    tool: (turn: number, n: number, seed: number) => {
      const call = `toolu_${turn}_${n}`
      const did = { type: 'tool_use', id: call, name: 'Bash', input: { command: `npm test -- ${seed}` } }
      const result = { type: 'tool_result', tool_use_id: call, content: outputOf(seed) }
      return [
        said(`${turn}-c${n}`, [did], 'tool_use'),
        line('user', `${turn}-r${n}`, { role: 'user', content: [result] }),
      ]
    },
    answer: (turn: number) => [
      said(`${turn}-a`, [{ type: 'text', text: 'It is done, and the tests pass. '.repeat(8) }], 'end_turn'),
    ],
  }
}

function outputOf(seed: number): string {
  const next = numbersFrom(seed)
  let text = ''
  while (text.length < TOOL_RESULT_CHARS)
    text += `${pick(QUALITIES, next())} ${pick(SUBJECTS, next())} ${next() % 10_000}: ok\n`
  return text
}
