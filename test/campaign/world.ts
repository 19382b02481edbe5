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
const STATE_FILES = /^(?:backups|corrupt|daemon\.(?:json|lock(?:-journal)?)|dreams|history\.db(?:-wal|-shm)?|index\.db(?:-wal|-shm)?|logs|memoryd\.sock|sessions|tool-results)$/
const PATIENCE_MS = 30_000

export type World = ReturnType<typeof openWorld>

export function openWorld(home: Home, random: Random, expectedLog: readonly RegExp[] = []) {
  let count = 0
  const ground: Ground = {
    ...{ home, random, mail: createMailLedger(), next: () => ++count },
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
    child.stderr?.on('data', (chunk) => problems.push(`on standard error: ${chunk}`))
    const exited = new Promise<void>((done) =>
      child.once('close', (code, signal) => {
        hasEnded = true
        running.delete(child)
        if (signal !== 'SIGKILL' && code !== 0) problems.push(`the daemon ended by itself (${code ?? signal}): ${words.slice(-500)}`)
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
      if (!/"level":[4-6]0/.test(line) || [...EXPECTED_LOG, ...expectedLog].some((words) => words.test(line))) continue
      problems.push(`in the log: ${line.slice(0, 600)}`)
    }
  }

  const settleProject = async (project: Project, client: StrictClient) => {
    const { cwd, dir, ledger } = project
    for (;;) {
      const changes = await changesSince(client, cwd, project.seen)
      const files = filesIn(dir)
      const index = files.get('MEMORY.md') ?? ''
      // A job that goes on may have written meanwhile.
      if (((await newest(client, cwd)) ?? 0) > (changes.at(-1) ? Number(changes.at(-1)?.id) : project.seen)) continue
      project.seen = Number(changes.at(-1)?.id ?? project.seen)
      files.delete('MEMORY.md')
      const own = changes.filter(({ file }) => file !== 'MEMORY.md')
      const found = [...ledger.settle({ files, changes: own }), ...ledger.indexProblems(index)]
      const lines = index.split('\n')
      for (const note of project.notes) if (!lines.includes(note)) found.push(`a line of a person is gone: ${note}`)
      problems.push(...found.map((problem) => `${project.name}: ${problem}`))
      return
    }
  }

  /** What every start has to leave as it was acknowledged. */
  const settle = async () => {
    const client = connectAs('user')
    try {
      for (const project of ground.projects) await settleProject(project, client)
      for (const box of BOXES) {
        const { items } = await client.mail({ agent: box, limit: '999' })
        const bodies = items.map(({ body }) => body)
        problems.push(...ground.mail.settle(box, bodies))
      }
    } catch (error) {
      problems.push(`not looked at: ${(error as Error).message}`)
    }
    readLog()
  }

  const within = async (what: string, isSo: () => Promise<boolean>): Promise<void> => {
    for (const sinceMs = performance.now(); !(await isSo()); await delay(20))
      if (performance.now() - sinceMs > PATIENCE_MS) return void problems.push(`not within ${PATIENCE_MS / 1_000} s: ${what}`)
  }

  /** Lets the daemon do what it has to do, with no one in its way: then all that was said is known, once. */
  const drain = async () => {
    const client = connectAs('user')
    const isIdle = async () => {
      const { ingest, jobs } = await client.status()
      if (ingest.lagBytes > 0 || jobs.running > 0) return false
      if (jobs.queued + jobs.waiting === 0) return true
      // One under which the process died ten times rests for an hour, unless a person asks for it.
      const { items } = await client.jobs({ state: 'queued', limit: '50' })
      for (const { id, error } of items) if (error?.includes('the process that ran it died')) await client.retryJob({ id })
      return false
    }
    const isKnown = async () => {
      for (const project of ground.projects) await settleProject(project, client)
      return ground.projects.every((project) => unsaid(project).length === 0 && project.ledger.unheard().length === 0)
    }
    await within('jobs and reading have ended', isIdle)
    await within('what was stated and edited is known', isKnown)
    await within('jobs have ended', isIdle)
    await settle()
    for (const project of ground.projects) await closeLook(project, client)
    const { state, errors, reasons } = await client.status()
    if (state !== 'ready' || errors.some(({ code }) => code !== 'store'))
      problems.push(`${state}: ${JSON.stringify([...reasons, ...errors])}`)
    const { items } = await client.jobs({ state: 'failed', limit: '50' })
    for (const { kind, error } of items) problems.push(`a job has failed: ${kind}, ${error}`)
    lookAtState()
  }

  const closeLook = async ({ name, cwd, dir, ledger, due }: Project, client: StrictClient) => {
    const say = (problem: string) => problems.push(`${name}: ${problem}`)
    for (const rule of unsaid({ ledger })) say(`stated and not known: ${rule}`)
    for (const file of ledger.unheard()) say(`an edit that the journal has not heard of: ${file}`)
    for (const file of due) if (ledger.entry(file)?.mayMerge && ledger.entry(file)?.now !== null) say(`not dreamed about: ${file}`)
    due.clear()
    for (const rest of namesIn(dir).filter((file) => !file.endsWith('.md') && file !== '.consolidate-lock'))
      say(`left behind: ${rest}`)
    if (!existsSync(dir)) return
    const { items } = await client.changes({ cwd, file: 'MEMORY.md', limit: '1' })
    const text = readFileSync(join(dir, 'MEMORY.md'), 'utf8')
    if (items[0] && items[0].afterHash !== hashOf(text)) say('the journal has another index')
  }

  const lookAtState = () => {
    const { stateDir } = home.places
    for (const name of namesIn(stateDir)) if (!STATE_FILES.test(name)) problems.push(`left in the state folder: ${name}`)
    for (const name of namesIn(join(stateDir, 'dreams'))) problems.push(`left of a dream: ${name}`)
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
          if ((existsSync(path) ? readFileSync(path, 'utf8') : null) !== before) problems.push(`${name}: ${file} was not undone byte for byte`)
        }
      }
    await settle()
  }

  /** Agents that get mail; said again at each start, until it was heard. */
  const register = async () => {
    const client = connectAs('user')
    for (const name of BOXES)
      await client.registerAgent({ name, sessionId: `of-${name}`, harness: 'generic', cwd: home.dir, pid: process.pid })
  }

  const counts = () => {
    const entries = ground.projects.flatMap(({ ledger }) => [...ledger.files()])
    const rules = ground.projects.flatMap(({ ledger }) => [...ledger.rules.values()])
    const seen = ground.projects.map((p) => p.seen)
    return { files: entries.length, there: entries.filter(([, { now }]) => now !== null).length, rules: rules.length, seen, n: count }
  }
  return { counts, ground, problems, launch, connectAs, disconnect, settle, drain, undoAll, register, readLog }
}

const unsaid = ({ ledger }: Pick<Project, 'ledger'>): string[] =>
  [...ledger.rules.values()].flatMap(({ token, state, file }) => (state === 'said' && file === undefined ? [token] : []))

async function newest(client: StrictClient, cwd: string): Promise<number | undefined> {
  const { items } = await client.changes({ cwd, limit: '1' })
  return items[0] && Number(items[0].id)
}

/** The oldest first. */
async function changesSince(client: StrictClient, cwd: string, seen: number): Promise<ChangeItem[]> {
  const all: ChangeItem[] = []
  for (let after: string | undefined; ; ) {
    const { items, next } = await client.changes({ cwd, limit: '100', ...(after && { after }) })
    const fresh = items.filter(({ id }) => Number(id) > seen)
    all.push(...fresh)
    if (fresh.length < items.length || next === undefined) return all.reverse()
    after = next
  }
}

const namesIn = (dir: string): string[] => (existsSync(dir) ? readdirSync(dir) : [])

function filesIn(dir: string): Map<string, string> {
  const names = namesIn(dir).filter((name) => name.endsWith('.md'))
  return new Map(names.map((name) => [name, readFileSync(join(dir, name), 'utf8')]))
}
