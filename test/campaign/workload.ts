/** Several clients, a person in an editor and harnesses that write transcripts, all at once and noted in the ledgers, until stopped. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { StrictClient } from '../../client/index.ts'
import { header, inPieces, sealed } from '../support/carry.ts'
import { claudeSession } from '../support/claude-session.ts'
import type { Home } from '../support/home.ts'
import { topic } from '../support/memory.ts'
import { createLedger, type Ledger, type Text } from './ledger.ts'
import type { MailLedger } from './mail-ledger.ts'
import { editOne, sayOne } from './person.ts'

export type Random = () => number

export type Project = {
  name: string
  cwd: string
  dir: string
  ledger: Ledger
  session: ReturnType<typeof claudeSession>
  turns: number
  /** Lines that a person put into the index. */
  notes: string[]
  imports: { runId: string | undefined; files: string[] }[]
  /** Edits of persons that may have failed, with what was before and after. */
  unsure: Map<string, Text[]>
  /** Of pairs that a dream which was taken in has to merge. */
  due: Set<string>
  /** The newest change that was looked at. */
  seen: number
}

export type Ground = {
  home: Home
  random: Random
  projects: Project[]
  mail: MailLedger
  next(): number
  isCut(): boolean
}

export const BOXES = ['ant', 'bee', 'cat'] as const

export function openProject(home: Home, name: string): Project {
  const session = claudeSession(home, `${name}-0`, name)
  const facts = { name, cwd: session.cwd, dir: session.memories, ledger: createLedger(), session, turns: 0 }
  return { ...facts, notes: [], imports: [], unsure: new Map(), due: new Set(), seen: 0 }
}

type Client = (at: Ground, project: Project, client: StrictClient) => Promise<void>

const pick = <T>(random: Random, all: readonly T[]): T | undefined => all[Math.floor(random() * all.length)]

/** Begins to work; `stop` resolves once all have seen that the daemon is gone, or ended what they were at. */
export function beginWork(
  at: Ground,
  connectAs: (actor: string) => StrictClient,
  judge: (error: unknown) => 'go on' | 'end',
) {
  let isGoing = true
  const first = Promise.withResolvers<void>()
  const repeat = async (client: Client, project: Project, connection: StrictClient) => {
    while (isGoing)
      try {
        await client(at, project, connection)
        first.resolve()
      } catch (error) {
        if (judge(error) === 'end') return
      }
  }
  const user = connectAs('user')
  const agent = connectAs('agent:campaign')
  const working = at.projects.flatMap((project, n) => [
    repeat(writeAs('user'), project, user),
    repeat(writeAs('agent'), project, agent),
    repeat(rememberOne, project, user),
    repeat(n === 0 ? importOne : dreamOnce, project, user),
    repeat(editNow, project, user),
    repeat(sayNow, project, user),
    ...(n === 0 ? [repeat(mailOne, project, agent), repeat(readMail, project, agent)] : [repeat(ask, project, agent)]),
  ])
  return {
    /** Resolves with the first thing that was done. */
    begun: first.promise,
    stop: async () => {
      isGoing = false
      await Promise.all(working)
    },
  }
}

/** What was begun and did not end stays open in the ledger, unless it was refused. */
async function attempt<T>(at: Ground, act: Promise<T>, refused: () => void): Promise<T> {
  try {
    const answer = await act
    // No answer comes over a wire without power, and the file system is not as strict with what is under way.
    if (at.isCut()) throw Object.assign(new Error('the power is gone'), { code: 'UNREACHABLE' })
    return answer
  } catch (error) {
    if (isRefusal(error)) refused()
    throw error
  }
}

/** It did not happen and will not. */
export function isRefusal(error: unknown): boolean {
  const { code, message = '' } = error as { code?: string; message?: string }
  return code !== 'UNREACHABLE' && !message.includes('may still happen')
}

const FILES_EACH = 5

function writeAs(actor: 'user' | 'agent'): Client {
  return async (at, { cwd, ledger }, client) => {
    const { random, next } = at
    const file = `${actor}_${Math.floor(random() * FILES_EACH)}.md`
    const entry = ledger.entry(file)
    const now = entry?.now ?? null
    const last = entry?.past.at(-1)
    const chance = random()
    if (last && last.change !== '' && chance < 0.25) {
      const tried = ledger.begin({ files: new Map([[file, last.before]]) })
      const { changeIds } = await attempt(at, client.undoChange({ id: last.change }), tried.refused)
      return tried.acknowledged(changeIds)
    }
    if (now !== null && chance < 0.4) {
      const tried = ledger.begin({ files: new Map([[file, null]]) })
      const { changeId = '' } = await attempt(at, client.forget({ cwd, file }), tried.refused)
      return tried.acknowledged([changeId])
    }
    const n = next()
    const content = topic(
      `Number ${n} by the ${actor}. ${'More of it. '.repeat(Math.floor(random() * 40))}`,
      `Of the ${actor}`,
    )
    const tried = ledger.begin({ files: new Map([[file, content]]) })
    const { changeId = '' } = await attempt(at, client.putMemory({ cwd, file, content }), tried.refused)
    tried.acknowledged([changeId])
  }
}

const MOST_REMEMBERED = 12

const rememberOne: Client = async (at, project, client) => {
  const { random, next } = at
  const { cwd, dir, ledger } = project
  const kept = [...ledger.files()].filter(
    ([file, { now, open }]) => /^[a-z]+_(?:remark|always)_/.test(file) && now !== null && !open,
  )
  if (kept.length > MOST_REMEMBERED * random()) {
    const [file = ''] = pick(random, kept) ?? []
    const tried = ledger.begin({ files: new Map([[file, null]]) })
    const { changeId = '' } = await attempt(at, client.forget({ cwd, file }), tried.refused)
    return tried.acknowledged([changeId])
  }
  const token = `Remark ${next()} of`
  const tried = ledger.begin({ files: new Map(), token })
  const text = `${token} the person: the gateway of region ${next()} is restarted by hand.`
  const { file, changeId = '' } = await attempt(at, client.remember({ cwd, text }), tried.refused)
  // Acknowledged is there, even if the daemon is gone by now.
  tried.named(file, readFileSync(join(dir, file), 'utf8'), changeId)
}

const MOST_IMPORTS = 3

const importOne: Client = async (at, project, client) => {
  const { next } = at
  const { cwd, ledger, imports } = project
  const isThere = (file: string) => (ledger.entry(file)?.now ?? null) !== null
  const [oldest] = imports
  if (oldest && (imports.length > MOST_IMPORTS || !oldest.files.some(isThere))) {
    const left = oldest.files.filter(isThere)
    const isWhole = oldest.runId !== undefined && left.length === oldest.files.length
    if (left.length === 0) return void imports.shift()
    const gone = isWhole ? left : left.slice(0, 1)
    const tried = ledger.begin({ files: new Map(gone.map((file) => [file, null])) })
    const [first = ''] = gone
    const undone = isWhole ? client.undoRun({ id: oldest.runId ?? '' }) : client.forget({ cwd, file: first })
    await attempt<unknown>(at, undone, tried.refused)
    return tried.acknowledged([])
  }
  const n = next()
  const files = ['one', 'two', 'three'].map((name) => `brought_${n}_${name}.md`)
  const texts = new Map<string, Text>(files.map((file) => [file, topic(`Brought in as number ${n}.`, file)]))
  const set = { runId: undefined as string | undefined, files }
  imports.push(set)
  const tried = ledger.begin({ files: texts })
  const lines = inPieces(
    Buffer.from(sealed([header, ...[...texts].map(([file, content]) => ({ kind: 'file', file, content }))])),
  )
  const { runId } = await attempt(at, client.importMemories({ cwd, lines }), tried.refused)
  set.runId = runId
  tried.acknowledged([])
}

/** Puts two that say the same, and asks for a dream that leaves one of them. */
const dreamOnce: Client = async (at, { cwd, ledger, due }, client) => {
  const { random, next } = at
  const single = [...ledger.files()].find(([file, { now }]) => {
    const twin = ledger.entry(file.replace('.md', '_2.md'))
    return /^pair_\d+\.md$/.test(file) && now !== null && twin?.now === null && !twin.open
  })
  if (single && random() < 0.7) {
    const tried = ledger.begin({ files: new Map([[single[0], null]]) })
    const { changeId = '' } = await attempt(at, client.forget({ cwd, file: single[0] }), tried.refused)
    return tried.acknowledged([changeId])
  }
  const n = next()
  const content = topic(
    `The release train of harbour ${n} leaves on the third, for wagon ${n} is full by then`,
    `Train ${n}`,
  )
  for (const file of [`pair_${n}.md`, `pair_${n}_2.md`]) {
    const tried = ledger.begin({ files: new Map([[file, content]]) })
    if (file.endsWith('_2.md')) ledger.mayMerge(file)
    const { changeId = '' } = await attempt(at, client.putMemory({ cwd, file, content }), tried.refused)
    tried.acknowledged([changeId])
  }
  if (random() < 0.5) return
  const pairs = [...ledger.files()].filter(([, { mayMerge, now }]) => mayMerge && now !== null)
  const { started } = await client.dream({ cwd, force: true })
  if (started) for (const [file] of pairs) due.add(file)
}

const BOX_OF: Record<string, string> = { ant: 'bee', bee: 'cat', cat: 'ant' }

const mailOne: Client = async (at, _project, client) => {
  const { random, mail, next } = at
  const from = pick(random, BOXES) ?? 'ant'
  const to = BOX_OF[from] ?? 'ant'
  const body = `Letter ${next()} to ${to}`
  const tried = mail.begin(to, body)
  await attempt(at, client.sendMail({ from, to, body }), tried.refused)
  tried.acknowledged()
  await delay(3 * random())
}

const readMail: Client = async (at, _project, client) => {
  const { random, mail } = at
  const agent = pick(random, BOXES) ?? 'ant'
  const { items } = await client.mail({ agent, limit: '20' })
  const some = items.filter(() => random() < 0.8)
  if (some.length === 0) return delay(2)
  const tried = mail.leave(some.map(({ body }) => body))
  await attempt(at, client.acknowledgeMail({ agent, ids: some.map(({ id }) => id) }), tried.refused)
  tried.acknowledged()
}

const ask: Client = async ({ random }, { cwd }, client) => {
  const query = 'When does the release train of the harbour leave?'
  if (random() < 0.5) await client.memories({ cwd })
  else await client.recall({ cwd, harness: 'generic', query, mode: 'local' })
  await delay(5 * random())
}

const editNow: Client = async (at, project) => {
  editOne(at, project)
  await delay(5 + 20 * at.random())
}

const sayNow: Client = async (at, project) => {
  sayOne(at, project)
  await delay(5 + 30 * at.random())
}
