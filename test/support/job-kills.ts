/** Kills a process at random moments while it works through jobs, and checks that each happened exactly once in effect. */
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { type Databases, openDatabases } from '../../daemon/db/databases.ts'
import type { Due } from '../../daemon/jobs/job.ts'
import { createJobTable } from '../../daemon/jobs/job-table.ts'
import { createJournal } from '../../daemon/memory/journal.ts'
import { makeHome } from './home.ts'
import { seeded } from './seed.ts'

const program = fileURLToPath(new URL('./job-program.ts', import.meta.url))
const JOBS = 50
const KINDS = ['extract', 'import', 'notes'] as const
const SPREAD_MS = 250

export async function killWhileJobsRun(kills: number): Promise<void> {
  const random = seeded(`kill -9 while ${JOBS} jobs run, ${kills} times`)
  const { dir: home } = makeHome()
  const state = join(home, 'state')
  const memories = ['one', 'two', 'three'].map((name) => join(home, name))
  for (const dir of memories) mkdirSync(dir)
  const dues: Due[] = []
  const within = <T>(look: (store: Databases) => T): T => {
    const store = openDatabases(state, Date.now())
    try {
      return look(store)
    } finally {
      store.close()
    }
  }
  const enqueueAll = (some: readonly Due[]) =>
    within((store) => {
      const jobs = createJobTable(store.index)
      store.index().transaction(() => {
        for (const due of some) jobs.enqueue(due, Date.now())
      })()
    })
  const batch = () => {
    const from = dues.length
    const some = Array.from({ length: JOBS }, (_, n): Due => {
      const kind = KINDS[n % KINDS.length] ?? 'extract'
      const dir = kind === 'extract' ? memories[n % memories.length] : undefined
      return { kind, key: `s${from + n}`, dir, watermark: 'm1', input: { n } }
    })
    dues.push(...some)
    enqueueAll(some)
  }

  let killed = 0
  for (let round = 0; killed < kills; round++) {
    // Ended by itself: there is nothing left to do.
    if (round === 0 || within((store) => idle(store))) batch()
    const { child, exited, working } = begin(state)
    // Every third one is killed while it starts.
    if (round % 3 !== 0) await working
    await Promise.race([exited, delay(random() * SPREAD_MS)])
    child.kill('SIGKILL')
    const { signal, code, stderr } = await exited
    if (signal === 'SIGKILL') killed++
    else expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  }
  // The last kill may have come when all was done: a program with nothing to do waits for something.
  if (within((store) => idle(store))) batch()
  expect(await begin(state).exited).toEqual({ code: 0, signal: null, stderr: '' })

  const repeated = within((store) => {
    const rows = store.index().prepare('SELECT state, owner, attempts FROM jobs').all() as Record<string, unknown>[]
    expect(rows.filter(({ state, owner }) => state !== 'done' || owner !== null)).toEqual([])
    return rows.filter(({ attempts }) => (attempts as number) > 1).length
  })
  // Or no kill hit a job at work.
  expect(repeated).toBeGreaterThan(0)
  console.info(`${dues.length} jobs, ${repeated} of them begun more than once`)
  const before = within((store) => effects(store, dues, memories))
  expect(before.wrong).toEqual([])

  // Nothing of it happens again when the index is lost and everything becomes due anew.
  for (const tail of ['', '-wal', '-shm']) rmSync(join(state, `index.db${tail}`), { force: true })
  enqueueAll(dues)
  expect(await begin(state).exited).toEqual({ code: 0, signal: null, stderr: '' })
  expect(within((store) => effects(store, dues, memories))).toEqual(before)
}

/** The program on these databases; `working` when it is at a job. */
export function begin(state: string, drainMs = 60_000) {
  const child = spawn(process.execPath, [program, state, String(drainMs)], { stdio: ['pipe', 'pipe', 'pipe'] })
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const exited = new Promise<{ code: number | null; signal: string | null; stderr: string }>((resolve) =>
    child.once('close', (code, signal) => resolve({ code, signal, stderr })),
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  const working = new Promise<void>((resolve) => {
    createInterface({ input: child.stdout }).once('line', () => resolve())
    void exited.then(() => resolve())
  })
  return { child, exited, working }
}

function idle(store: Databases): boolean {
  const { queued, waiting, running } = createJobTable(store.index).counts()
  return queued + waiting + running === 0
}

/** What the jobs left behind, and which of them left too little or too much. */
function effects(store: Databases, dues: readonly Due[], memories: readonly string[]) {
  const journal = createJournal(store.history)
  const entries = (run: string) => journal.ofRun(run).filter(({ partOf }) => partOf === undefined)
  const wrong = dues.flatMap(({ kind, key, dir }) => {
    const first = entries(`${kind} ${key} m1`)
    if (kind === 'extract') {
      const files = first.map(({ file }) => file).sort()
      const texts = ['a', 'b'].map((part) => readFileSync(join(dir ?? '', `${key}_${part}.md`), 'utf8'))
      const whole = files.join() === `${key}_a.md,${key}_b.md` && texts.every((text) => text.includes(`${key} m1`))
      return whole ? [] : [`${kind} ${key}: ${files.join()}`]
    }
    if (kind === 'import') return first.length === 1 ? [] : [`${kind} ${key}: ${first.length}`]
    // Its newest input stands for the one before, if that had not been dealt with yet.
    const second = entries(`${kind} ${key} m2`)
    return first.length <= 1 && second.length === 1 ? [] : [`${kind} ${key}: ${first.length} and ${second.length}`]
  })
  const files = memories.map((dir) => readdirSync(dir).sort())
  return { wrong, files, changes: store.history.prepare('SELECT count(*) FROM changes').pluck().get() }
}
