/** What is done while file calls fail: each kind of write, and each kind of question, in a project of its own. */
import { mkdirSync, renameSync } from 'node:fs'
import { basename, join } from 'node:path'
import { vi } from 'vitest'
import type { StrictClient } from '../../client/index.ts'
import type { MemoryList } from '../../schema/memory.ts'
import { header, inPieces, sealed } from './carry.ts'
import { claudeSession } from './claude-session.ts'
import type { Home } from './home.ts'
import { topics } from './learning.ts'
import { topic } from './memory.ts'
import { memoryDirOf } from './writer.ts'

/** A project with memories, of which some say the same. `told`: the run, change or session that an operation is about. */
export type Ground = { home: Home; client: StrictClient; cwd: string; dir: string; told: string }

/** `isWrite`: it changes memories, all of it or nothing. `goal`: the project that has them afterwards, where it is another one. */
export type Operation = {
  name: string
  isWrite: boolean
  prepare?: (ground: Ground) => Promise<unknown>
  act: (ground: Ground) => Promise<unknown>
  goal?: (ground: Ground) => string
  /** Waits until nothing of it goes on by itself. */
  calm?: (ground: Ground) => Promise<void>
  /** What it brings about goes on by itself, and is looked at when all cases of a home have begun. */
  isLate?: true
  /** What an answer may lack of that whose files are closed to the user: those are left out on purpose. */
  parts?: (answer: unknown) => readonly unknown[]
}

/** Those whose names differ in a number say the same. */
const memory = (name: string, body: string) => ({
  kind: 'file',
  file: `${name}.md`,
  content: topic(body, name.replace(/_\d$/, '')),
})

const SEED = sealed([
  header,
  memory('alpha', 'The lighthouse keeper signs every release by hand'),
  memory('beta', 'Deploys of the shop go out from the harbour branch only'),
  memory('train', 'The release train leaves on the third because the wagon is full by then'),
  memory('train_2', 'The release train leaves on the third because the wagon is full by then'),
  memory('freeze', 'The code freeze begins on Monday after the review of the quarter'),
  memory('freeze_2', 'The code freeze begins on Monday after the review of the quarter'),
])
const BROUGHT = sealed([
  header,
  memory('alpha', 'Another lighthouse of the same name stands in the north'),
  memory('gamma', 'The gateway listens on port 4100 in every region'),
  memory('delta', 'The delta team answers within one working day'),
])

export async function makeGround(client: StrictClient, home: Home, name: string): Promise<Ground> {
  const cwd = join(home.dir, name)
  mkdirSync(join(cwd, '.git'), { recursive: true })
  const { runId = '' } = await client.importMemories({ cwd, lines: inPieces(Buffer.from(SEED)) })
  return { home, client, cwd, dir: memoryDirOf(home, cwd), told: runId }
}

const movedTo = ({ cwd }: Ground) => `${cwd}-moved`

const writers: readonly Omit<Operation, 'isWrite'>[] = [
  {
    name: 'remember',
    act: ({ client, cwd }) => client.remember({ cwd, text: 'Always run the linter before a push to the main branch.' }),
  },
  {
    name: 'put a new one',
    act: ({ client, cwd }) => client.putMemory({ cwd, file: 'new.md', content: topic('New.') }),
  },
  {
    name: 'put over one',
    act: ({ client, cwd }) => client.putMemory({ cwd, file: 'alpha.md', content: topic('Other words.', 'alpha') }),
  },
  {
    name: 'put into a new folder',
    act: ({ client, cwd }) => client.putMemory({ cwd, file: 'sub/new.md', content: topic('New.') }),
  },
  { name: 'forget', act: ({ client, cwd }) => client.forget({ cwd, file: 'alpha.md' }) },
  { name: 'reject', act: ({ client, cwd }) => client.forget({ cwd, file: 'alpha.md', reject: 'true' }) },
  {
    name: 'undo a change',
    prepare: async (ground) => {
      const { client, cwd } = ground
      const { changeId } = await client.putMemory({ cwd, file: 'alpha.md', content: topic('Other words.', 'alpha') })
      ground.told = changeId ?? ''
    },
    act: ({ client, told }) => client.undoChange({ id: told }),
  },
  { name: 'undo a run', act: ({ client, told }) => client.undoRun({ id: told }) },
  { name: 'import', act: ({ client, cwd }) => client.importMemories({ cwd, lines: inPieces(Buffer.from(BROUGHT)) }) },
  {
    name: 'dream',
    act: ({ client, cwd, dir }) => dreamOnce(client, cwd, dir),
    calm: async ({ client, dir }) => {
      while ((await dreamJobs(client, dir)).length > 0) await client.health()
    },
  },
  {
    name: 'move',
    prepare: async (ground) => renameSync(ground.cwd, movedTo(ground)),
    act: (ground) => ground.client.moveProject({ from: ground.cwd, to: movedTo(ground) }),
    goal: movedTo,
  },
]

const itemsOf = (answer: unknown) => (answer as MemoryList).items
const filesOf = (answer: unknown) => (answer as { files: string[] }).files

const readers: readonly Omit<Operation, 'isWrite'>[] = [
  { name: 'list', act: ({ client, cwd }) => client.memories({ cwd }), parts: itemsOf },
  { name: 'find', act: ({ client, cwd }) => client.memories({ cwd, q: 'lighthouse' }), parts: itemsOf },
  { name: 'read one', act: ({ client, cwd }) => client.memory({ cwd, file: 'alpha.md' }) },
  { name: 'index', act: ({ client, cwd }) => client.memoryIndex({ cwd }) },
  { name: 'prompt', act: ({ client, cwd }) => client.memoryPrompt({ cwd, harness: 'generic' }) },
  { name: 'changes', act: ({ client, cwd }) => client.changes({ cwd }) },
  { name: 'recall', act: ({ client, cwd }) => recallOnce(client, cwd), parts: filesOf },
  {
    name: 'session',
    prepare: converse,
    act: async ({ client, told }) => (await client.session({ id: told })).turnList.map(({ prompt }) => prompt),
  },
  {
    name: 'search',
    prepare: converse,
    act: async ({ client, cwd }) => (await client.search({ cwd, q: 'ferry' })).items.map(({ snippet }) => snippet),
  },
  { name: 'export', act: ({ client, cwd }) => textOf(client.exportMemories({ cwd })) },
]

/** A session in the project that was read. */
async function converse(ground: Ground): Promise<void> {
  const { home, client, cwd } = ground
  const session = claudeSession(home, `session-${basename(cwd)}`, basename(cwd))
  session.say('When does the ferry leave?', 'The ferry leaves at noon.')
  ground.told = session.id
  const isRead = async () => (await client.search({ cwd, q: 'ferry' })).items.length === 2
  while (!(await isRead())) await client.health()
}

export const operations: readonly Operation[] = [
  ...writers.map((each) => ({ ...each, isWrite: true })),
  ...readers.map((each) => ({ ...each, isWrite: false })),
]

/** Nothing tells a harness that its transcript could not be read: what was said in it is known at last, and known once. */
export const listeners: readonly Operation[] = [
  {
    name: 'hear',
    ...{ isWrite: false, isLate: true },
    act: async (ground) => {
      const { home, cwd } = ground
      const id = `session-${basename(cwd)}`
      const isNew = ground.told !== id
      ground.told = id
      if (isNew) claudeSession(home, id, basename(cwd)).say(RULE)
      return learned(ground, isNew)
    },
  },
  {
    name: 'push a turn',
    ...{ isWrite: false, isLate: true },
    act: async (ground) => {
      const { client, cwd } = ground
      const turn = { cwd, harness: 'mine', sessionId: `session-${basename(cwd)}`, turnId: 'first' }
      const isNew = ground.told !== turn.sessionId
      ground.told = turn.sessionId
      await client.pushTurn({
        ...turn,
        messages: [
          { type: 'user', text: RULE },
          { type: 'assistant', text: 'Done.', end: 'final' },
        ],
      })
      return learned(ground, isNew)
    },
  },
]

const RULE = 'Please always run check-one before you commit, because CI is strict.'
const FIRST_MS = 2_000
/** A look that failed is followed by another within a sweep, a job that failed twice, by the fault of another case, within a minute. */
const LATEST_MS = 90_000

/** What of a turn is known, once all of it is. */
async function learned({ client, cwd, dir }: Ground, isNew: boolean) {
  const known = async () => {
    const { items } = await client.search({ cwd, q: 'check-one' })
    const memories = topics(dir).filter((file) => /check/.test(file))
    if (items.length === 0 || memories.length === 0) throw Object.assign(new Error('not known yet'), { code: 'LATE' })
    return { said: items.map(({ snippet }) => snippet), memories }
  }
  return vi.waitFor(known, { timeout: isNew ? FIRST_MS : LATEST_MS, interval: 20 })
}

/** An answer that says of itself that something is missing in it is as good as a refusal. */
const incomplete = (what: string) => Object.assign(new Error(what), { code: 'INCOMPLETE' })

async function recallOnce(client: StrictClient, cwd: string) {
  const query = 'Who signs a release at the lighthouse?'
  const { memories, text, partial } = await client.recall({ cwd, harness: 'generic', query, mode: 'local' })
  if (partial) throw incomplete('not all memories could be read')
  return { files: memories.map(({ file }) => file), text }
}

/** Without the first line and the last, which tell of the time. */
async function textOf(exported: AsyncIterable<Uint8Array>): Promise<string[]> {
  const chunks: Uint8Array[] = []
  for await (const chunk of exported) chunks.push(chunk)
  const [, ...lines] = Buffer.concat(chunks).toString().trimEnd().split('\n')
  const { left } = JSON.parse(lines.pop() ?? '') as { left: unknown[] }
  if (left.length > 0) throw incomplete(JSON.stringify(left))
  return lines
}

/** Those that have not ended. */
async function dreamJobs(client: StrictClient, dir: string) {
  const { items } = await client.jobs({ limit: '200' })
  return items.filter(({ key, endedAt }) => key === dir && endedAt === undefined)
}

/** As long as something may take here whose end cannot be written. */
const STUCK_MS = 3_000

/** A dream that failed would be tried again by itself. */
async function endDreams(client: StrictClient, cwd: string, dir: string): Promise<void> {
  for (const { id } of await dreamJobs(client, dir)) await client.killJob({ id })
  while ((await client.dreamStatus({ cwd })).live?.state === 'running') await client.health()
}

/** One run of a dream, to its end or its failure. One that the failing disk did not let end is ended by the next. */
async function dreamOnce(client: StrictClient, cwd: string, dir: string): Promise<void> {
  await endDreams(client, cwd, dir)
  const begun = await client.dream({ cwd, force: true })
  if (!begun.started) throw new Error(`no dream: ${begun.why}`)
  for (const sinceMs = performance.now(); performance.now() - sinceMs < STUCK_MS; ) {
    const { state, error, result } = await client.job({ id: begun.jobId })
    if (state === 'running' || (state === 'queued' && error === undefined)) continue
    // Nothing is left to do where the one before was done after all.
    if (['applied', 'nothing'].includes((result as { outcome?: string } | undefined)?.outcome ?? '')) return
    await endDreams(client, cwd, dir).catch(() => {})
    throw Object.assign(new Error(error ?? JSON.stringify(result)), { code: 'JOB' })
  }
  throw Object.assign(new Error('it does not end'), { code: 'JOB' })
}
