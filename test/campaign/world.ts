/** One home that outlives many kills: starts its daemon, looks at what the last end has left, and waits until all is worked off. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { onTestFinished } from 'vitest'
import { connect, type StrictClient } from '../../client/index.ts'
import type { ChangeItem } from '../../schema/history.ts'
import { daemonMain } from '../support/daemon.ts'
import { hashOf } from '../support/fault-oracle.ts'
import type { Home } from '../support/home.ts'
import type { Change } from './ledger.ts'
import { createMailLedger } from './mail-ledger.ts'
import { BOXES, type Ground, openProject, type Project, type Random } from './workload.ts'

export type Daemon = {
  child: ChildProcess
  /** False when it ended before it was ready. */
  ready: Promise<boolean>
  exited: Promise<void>
  hasEnded(): boolean
}

/** What the log may say at warning level after a kill. */
const EXPECTED_LOG = [/put back the lock of a dream/, /completed changes that a kill had interrupted/]
const STATE_FILES =
  /^(?:backups|corrupt|daemon\.(?:json|lock(?:-journal)?)|dreams|history\.db(?:-wal|-shm)?|index\.db(?:-wal|-shm)?|logs|memoryd\.sock|sessions|tool-results)$/
const PATIENCE_MS = 60_000

/** `isCut`: there is no power, so that what is answered does not count, and a daemon may end by itself. */
export function openWorld(home: Home, random: Random, isCut = () => false) {
  let count = 0
  const ground: Ground = {
    ...{ home, random, mail: createMailLedger(), next: () => ++count, isCut },
    projects: ['shop', 'port'].map((name) => openProject(home, name)),
  }
  const problems: string[] = []
  const running = new Set<ChildProcess>()
  const clients = new Map<string, StrictClient>()
  onTestFinished(async () => {
    for (const child of running) child.kill('SIGKILL')
    for (const client of clients.values()) client.close()
  })

  const launch = (env: Home['env'] = home.env): Daemon => {
    const child = spawn(process.execPath, [daemonMain], {
      env: { ...env, JOURNAL_STREAM: '1:1' } as NodeJS.ProcessEnv,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running.add(child)
    let words = ''
    let hasEnded = false
    const { promise: ready, resolve } = Promise.withResolvers<boolean>()
    child.stdout?.on('data', (chunk) => {
      if (words.length < 10_000) words += chunk
      if (words.includes('memoryd is ready')) resolve(true)
    })
    child.stderr?.on('data', (chunk) => {
      if (!isCut()) problems.push(`on standard error: ${chunk}`)
    })
    const exited = new Promise<void>((done) =>
      child.once('close', (code, signal) => {
        hasEnded = true
        running.delete(child)
        if (signal !== 'SIGKILL' && code !== 0 && !isCut())
          problems.push(`the daemon ended by itself (${code ?? signal}): ${words.slice(-500)}`)
        resolve(false)
        done()
      }),
    )
    return { child, ready, exited, hasEnded: () => hasEnded }
  }

  const connectAs = (actor: string): StrictClient => {
    const client =
      clients.get(actor) ?? connect({ socket: home.places.socketPath, strict: true, actor, deadlineMs: 20_000 })
    clients.set(actor, client)
    return client
  }
  /** Connections of a daemon that is gone. */
  const disconnect = () => {
    for (const client of clients.values()) client.close()
    clients.clear()
  }

  const end = async ({ child, exited }: Daemon, signal: 'SIGTERM' | 'SIGKILL') => {
    child.kill(signal)
    await exited
    disconnect()
  }

  let logOffset = 0
  const readLog = () => {
    const { logFile } = home.places
    const size = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0
    if (size < logOffset) logOffset = 0
    if (size === logOffset) return
    const bytes = Buffer.alloc(size - logOffset)
    const fd = openSync(logFile, 'r')
    readSync(fd, bytes, 0, bytes.length, logOffset)
    closeSync(fd)
    const end = bytes.lastIndexOf(10) + 1
    logOffset += end
    for (const line of bytes.subarray(0, end).toString().split('\n')) {
      if (!/"level":[4-6]0/.test(line) || EXPECTED_LOG.some((words) => words.test(line))) continue
      problems.push(`in the log: ${line.slice(0, 600)}`)
    }
  }

  const judge = (project: Project, changes: readonly Change[], files: Map<string, string>) => {
    const { name, ledger, notes } = project
    const lines = (files.get('MEMORY.md') ?? '').split('\n')
    project.seen = changes.at(-1)?.id ?? project.seen
    const own = changes.filter(({ file }) => file !== 'MEMORY.md')
    const memories = new Map([...files].filter(([file]) => file !== 'MEMORY.md'))
    const gone = notes.filter((note) => !lines.includes(note)).map((note) => `a line of a person is gone: ${note}`)
    const found = [...ledger.settle({ files: memories, changes: own }), ...ledger.indexProblems(lines), ...gone]
    problems.push(...found.map((problem) => `${name}: ${problem}`))
  }

  const lookAt = async (project: Project, source: Source) => {
    for (;;) {
      const changes = await source.changes(project)
      // A change is written before the daemon answers anything else.
      await connectAs('user').health()
      const files = filesIn(project.dir)
      // A job that goes on may have written meanwhile.
      if ((await source.newest(project)) === (changes.at(-1)?.id ?? project.seen)) return judge(project, changes, files)
    }
  }

  /** What every start has to leave as it was acknowledged. `read`: from the database, at a tenth of the cost. */
  const settle = async (how: 'ask' | 'read') => {
    const source = how === 'ask' ? requests(connectAs('user')) : database(join(home.places.stateDir, 'history.db'))
    try {
      for (const project of ground.projects) await lookAt(project, source)
      for (const box of BOXES) problems.push(...ground.mail.settle(box, await source.mail(box)))
    } catch (error) {
      problems.push(`not looked at: ${(error as Error).message}`)
    } finally {
      source.close()
    }
    readLog()
  }

  const within = async (what: string, isSo: () => Promise<boolean>): Promise<void> => {
    for (const sinceMs = performance.now(); problems.length === 0 && !(await isSo()); await delay(20))
      if (performance.now() - sinceMs > PATIENCE_MS)
        return void problems.push(`not within ${PATIENCE_MS / 1_000} s: ${what}`)
  }

  /** Lets the daemon do what it has to do, undisturbed: then all that was said is known, once. */
  const drain = async () => {
    const client = connectAs('user')
    const isIdle = async () => {
      const { ingest, jobs } = await client.status()
      if (ingest.lagBytes > 0 || jobs.running > 0) return false
      if (jobs.queued + jobs.waiting === 0) return true
      // One under which the process died ten times rests for an hour, unless a person asks for it.
      const { items } = await client.jobs({ state: 'queued', limit: '50' })
      for (const { id, error } of items)
        if (error?.includes('the process that ran it died')) await client.retryJob({ id }).catch(unlessConflict)
      return false
    }
    const isKnown = async () => {
      await settle('ask')
      return ground.projects.every((project) => unsaid(project).length === 0 && project.ledger.unheard().length === 0)
    }
    await within('jobs and reading have ended', isIdle)
    await within('what was stated and edited is known', isKnown)
    await within('jobs have ended', isIdle)
    for (const project of ground.projects)
      await within('the journal has the index', () => isIndexKnown(project, client))
    await settle('ask')
    for (const project of ground.projects) closeLook(project)
    const { state, errors, reasons } = await client.status()
    if (state !== 'ready' || errors.some(({ code }) => code !== 'store'))
      problems.push(`${state}: ${JSON.stringify([...reasons, ...errors])}`)
    const { items } = await client.jobs({ state: 'failed', limit: '50' })
    for (const { kind, error } of items) problems.push(`a job has failed: ${kind}, ${error}`)
    lookAtState()
  }

  const isIndexKnown = async ({ cwd, dir }: Project, client: StrictClient): Promise<boolean> => {
    const path = join(dir, 'MEMORY.md')
    const { items } = await client.changes({ cwd, file: 'MEMORY.md', limit: '1' })
    return (items[0]?.afterHash ?? null) === (existsSync(path) ? hashOf(readFileSync(path, 'utf8')) : null)
  }

  const closeLook = ({ name, dir, ledger, due }: Project) => {
    const say = (problem: string) => problems.push(`${name}: ${problem}`)
    for (const rule of unsaid({ ledger })) say(`stated and not known: ${rule}`)
    for (const file of ledger.unheard()) say(`an edit that the journal has not heard of: ${file}`)
    for (const file of due)
      if (ledger.entry(file)?.mayMerge && ledger.entry(file)?.now !== null) say(`not dreamed about: ${file}`)
    due.clear()
    for (const rest of namesIn(dir).filter((file) => !file.endsWith('.md') && file !== '.consolidate-lock'))
      say(`left behind: ${rest}`)
  }

  const lookAtState = () => {
    const { stateDir } = home.places
    for (const name of namesIn(stateDir))
      if (!STATE_FILES.test(name)) problems.push(`left in the state folder: ${name}`)
    // A lock that was let go stays as a file until the next start.
    for (const name of namesIn(join(stateDir, 'dreams')))
      if (!name.endsWith('.lock')) problems.push(`left of a dream: ${name}`)
    for (const name of ['history.db', 'index.db']) {
      const db = new Database(join(stateDir, name), { readonly: true })
      const found = db.pragma('integrity_check', { simple: true })
      const foreign = db.pragma('foreign_key_check') as unknown[]
      db.close()
      if (found !== 'ok' || foreign.length > 0) problems.push(`${name}: ${found}, ${foreign.length} broken references`)
    }
  }

  /** Takes back what may be, the newest first: each file is byte for byte what it was. */
  const undoAll = async (most: number) => {
    const client = connectAs('user')
    for (const { name, dir, ledger } of ground.projects)
      for (const [file, { past, mayMerge, edited }] of ledger.files()) {
        if (mayMerge || edited.size > 0) continue
        for (const { change, before } of past.slice(-most).reverse()) {
          const tried = ledger.begin({ files: new Map([[file, before]]) })
          try {
            const { changeIds } = await client.undoChange({ id: change })
            tried.acknowledged(changeIds)
          } catch (error) {
            problems.push(`${name}: ${file} cannot be had back: ${(error as Error).message}`)
            tried.refused()
            break
          }
          const path = join(dir, file)
          if ((existsSync(path) ? readFileSync(path, 'utf8') : null) !== before)
            problems.push(`${name}: ${file} was not undone byte for byte`)
        }
      }
    await settle('ask')
  }

  /** Agents that get mail; said again at each start, until it was heard. */
  const register = async () => {
    const client = connectAs('user')
    for (const name of BOXES)
      await client.registerAgent({ name, sessionId: `of-${name}`, harness: 'generic', cwd: home.dir, pid: process.pid })
  }

  return { ground, problems, launch, end, connectAs, settle, drain, undoAll, register }
}

const unsaid = ({ ledger }: Pick<Project, 'ledger'>): string[] =>
  [...ledger.rules.values()].flatMap(({ token, state, file }) =>
    state === 'said' && file === undefined ? [token] : [],
  )

/** It runs already, by itself. */
function unlessConflict(error: unknown): void {
  if ((error as { code?: string }).code !== 'CONFLICT') throw error
}

/** Where it is asked what is in the journal, and which mail waits. */
type Source = {
  /** Since the last look, the oldest first. */
  changes(project: Project): Promise<Change[]>
  newest(project: Project): Promise<number>
  mail(box: string): Promise<string[]>
  close(): void
}

function requests(client: StrictClient): Source {
  const changeOf = ({ id, file, op, actor, runId, afterHash }: ChangeItem): Change => {
    return { id: Number(id), file, op, actor, run: runId ?? null, hash: afterHash }
  }
  return {
    changes: async ({ cwd, seen }) => {
      const all: Change[] = []
      for (let after: string | undefined; ; ) {
        const { items, next } = await client.changes({ cwd, limit: '100', ...(after && { after }) })
        const fresh = items.map(changeOf).filter(({ id }) => id > seen)
        all.push(...fresh)
        if (fresh.length < items.length || next === undefined) return all.reverse()
        after = next
      }
    },
    newest: async ({ cwd }) => Number((await client.changes({ cwd, limit: '1' })).items[0]?.id ?? 0),
    mail: async (agent) => (await client.mail({ agent, limit: '999' })).items.map(({ body }) => body),
    close: () => {},
  }
}

function database(file: string): Source {
  const db = new Database(file, { readonly: true })
  const since = db.prepare(`SELECT id, file, op, actor, run, after_hash AS hash FROM changes
    WHERE dir = ? AND part_of IS NULL AND id > ? ORDER BY id`)
  const last = db.prepare('SELECT coalesce(max(id), 0) FROM changes WHERE dir = ? AND part_of IS NULL').pluck()
  const bodies = db.prepare('SELECT body FROM mail WHERE box = ? AND acknowledged = 0 ORDER BY id').pluck()
  return {
    changes: async ({ dir, seen }) => since.all(dir, seen) as Change[],
    newest: async ({ dir }) => last.get(dir) as number,
    mail: async (box) => bodies.all(box) as string[],
    close: () => db.close(),
  }
}

const namesIn = (dir: string): string[] => (existsSync(dir) ? readdirSync(dir) : [])

function filesIn(dir: string): Map<string, string> {
  const names = namesIn(dir).filter((name) => name.endsWith('.md'))
  return new Map(names.map((name) => [name, readFileSync(join(dir, name), 'utf8')]))
}
