/**
 * `npm run soak -- [minutes]`: 64 agents at work and transcripts that are read, for an hour or as long as is asked. One line a minute,
 * a table at the end; ends with 1 when a limit is missed. Runs when loaded.
 */
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { storeLayout } from '../../daemon/db/database.ts'
import { findPlaces } from '../../schema/rendezvous.ts'
import { lateShare, makeBacklog, makeProjects, startAgents, type Taken, TURN_MS } from '../bench/busy-agents.ts'
import type { Home } from '../bench/daemon.ts'
import { quantile } from '../bench/rounds.ts'
import { usageOf } from '../bench/usage.ts'
import { createWorkbench } from '../bench/workbench.ts'
import { limits, type Minute, missed, type Soaked } from './soak-limits.ts'

const AGENTS = 64
const MINUTES = 60
/** 1.15 MB each: 200 MB in an hour, and as much in a shorter soak of the same load. */
const FILES_PER_MINUTE = 3
const MINUTE_MS = 60_000
const SAMPLE_MS = 1_000
const WARM_UP_MS = 20_000
const MB = 1_000_000
const ERROR_LEVEL = 50
const SHOWN_ERRORS = 5

const columns = ['minute', 'hooks', 'late %', 'hook p99 ms', 'recall p99 ms', 'errors', 'RSS MB', 'files', 'history MB']

async function soak(minutes: number): Promise<number> {
  const bench = createWorkbench({ pace: 'full' })
  const onSignal = () => void bench.close().finally(() => process.exit(130))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, onSignal)
  try {
    const home = bench.home()
    const projects = makeProjects(home)
    const backlog = makeBacklog(home, minutes * FILES_PER_MINUTE)
    const { pid } = await bench.daemon(home)
    const agents = startAgents(home, projects, { count: AGENTS, turnMs: TURN_MS })
    await delay(WARM_UP_MS)
    agents.take()
    const before = changesOf(home)
    const minutesDone: Minute[] = []
    process.stdout.write(`${row(columns)}\n`)
    for (let minute = 1; minute <= minutes; minute++) {
      backlog.arrive(FILES_PER_MINUTE)
      const samples = await samplesOf(pid)
      const { taken, failed } = agents.take()
      for (const error of failed.slice(0, SHOWN_ERRORS)) process.stderr.write(`${error}\n`)
      const done = minuteOf(taken, samples, failed.length)
      minutesDone.push(done)
      process.stdout.write(`${lineOf(minute, done, home)}\n`)
    }
    await agents.stop()
    const after = changesOf(home)
    const soaked: Soaked = {
      minutes: minutesDone,
      logged: errorsLogged(home),
      writes: after.count - before.count,
      writtenBytes: after.bytes - before.bytes,
    }
    return show(soaked)
  } finally {
    await bench.close()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal)
  }
}

type Sample = { rssBytes: number; files: number }

async function samplesOf(pid: number): Promise<Sample[]> {
  const samples: Sample[] = []
  const endMs = performance.now() + MINUTE_MS
  for (; performance.now() < endMs; await delay(SAMPLE_MS))
    samples.push({ rssBytes: usageOf(pid).rssBytes, files: filesOf(pid) })
  return samples
}

/** Without sockets: those are the agents'. */
function filesOf(pid: number): number {
  const folder = `/proc/${pid}/fd`
  if (!existsSync(folder)) return 0
  const targets = readdirSync(folder).map((fd) => {
    try {
      return readlinkSync(`${folder}/${fd}`)
    } catch {
      // It was closed meanwhile.
      return 'socket:'
    }
  })
  return targets.filter((target) => !target.startsWith('socket:')).length
}

function minuteOf(taken: Taken, samples: readonly Sample[], errors: number): Minute {
  return {
    hooks: taken.hook.length,
    late: Math.round(lateShare(taken) * taken.hook.length),
    hookP99Ms: quantile(taken.hook, 0.99),
    recallP99Ms: quantile(taken.recall, 0.99),
    errors,
    rssBytes: quantile(
      samples.map(({ rssBytes }) => rssBytes),
      0.5,
    ),
    // Between requests: what stays open.
    files: Math.min(...samples.map(({ files }) => files)),
  }
}

/** The journal's part of history.db: the other tables grow with sessions, and retention bounds them. */
function changesOf(home: Home): { count: number; bytes: number } {
  const db = new Database(historyOf(home), { readonly: true })
  try {
    const one = (sql: string) => Number(db.prepare(sql).pluck().get())
    return {
      count: one('SELECT count(*) FROM changes'),
      bytes: one(
        `SELECT sum(s.pgsize) FROM dbstat s JOIN sqlite_schema m ON m.name = s.name
         WHERE m.tbl_name IN ('changes', 'contents')`,
      ),
    }
  } finally {
    db.close()
  }
}

function historyOf(home: Home): string {
  return storeLayout(findPlaces(home.env).stateDir).history
}

function errorsLogged(home: Home): number {
  const lines = readFileSync(findPlaces(home.env).logFile, 'utf8').trim().split('\n')
  const errors = lines.filter((line) => (JSON.parse(line) as { level: number }).level >= ERROR_LEVEL)
  for (const line of errors.slice(0, SHOWN_ERRORS)) process.stderr.write(`${line}\n`)
  return errors.length
}

function row(cells: readonly string[]): string {
  return cells.map((cell, n) => cell.padStart(Math.max(7, (columns[n] ?? '').length))).join('  ')
}

function lineOf(minute: number, done: Minute, home: Home): string {
  const { hooks, late, hookP99Ms, recallP99Ms, errors, rssBytes, files } = done
  return row([
    ...[String(minute), String(hooks), ((100 * late) / hooks).toFixed(2), hookP99Ms.toFixed(0), recallP99Ms.toFixed(0)],
    ...[String(errors), (rssBytes / MB).toFixed(1), String(files), (statSync(historyOf(home)).size / MB).toFixed(1)],
  ])
}

function show(soaked: Soaked): number {
  const lines = limits(soaked)
  process.stdout.write('\n')
  for (const { what, measured, atMost, unit, isKept } of lines)
    process.stdout.write(
      `${what.padEnd(42)} ${measured.toFixed(2).padStart(10)} ${unit}, at most ${atMost} ${unit}: ${isKept ? 'kept' : 'MISSED'}\n`,
    )
  return missed(lines) > 0 ? 1 : 0
}

const minutes = Number(process.argv[2] ?? MINUTES)
if (Number.isInteger(minutes) && minutes >= 3) process.exitCode = await soak(minutes)
else {
  process.stderr.write('usage: npm run soak -- [minutes]   (60; at least 3, which are compared by thirds)\n')
  process.exitCode = 2
}
