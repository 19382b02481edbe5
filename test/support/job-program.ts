/**
 * A process that does what is queued and ends when nothing is left: store, writer and runner as a daemon has them, with kinds
 * that leave one entry per run in the journal. `<state folder> <drain ms>`; SIGTERM stops it as it stops a daemon.
 */
import type { Claimed, JobKind, RunContext } from '../../daemon/jobs/job.ts'
import { createJobClaims, createJobTable } from '../../daemon/jobs/job-table.ts'
import { createRunner } from '../../daemon/jobs/runner.ts'
import { recoverChanges } from '../../daemon/memory/recovery.ts'
import { printTopic } from '../../daemon/memory/topic-file.ts'
import { createModels, type Models } from '../../daemon/models/models.ts'
import { aborted } from '../../daemon/platform/process.ts'
import { openWriter } from './writer.ts'

const [stateDir = '', drainMs = '0'] = process.argv.slice(2)
const { core, journal, writer } = await openWriter(stateDir)
const { clock, db: store } = core
recoverChanges(journal, [], () => true)
const jobs = createJobTable(store.index)

const runId = ({ kind, key, watermark }: Claimed) => `${kind} ${key} ${watermark}`
const alreadyDone = (job: Claimed) => journal.ofRun(runId(job)).length > 0

/** What every run does before it changes anything; false when it must leave no trace. */
async function worked({ id }: Claimed, { signal, ownsLease }: RunContext): Promise<boolean> {
  process.stdout.write(`at ${id}\n`)
  await clock.delay(Math.random() * 10)
  return !signal.aborted && ownsLease()
}

function record(job: Claimed): void {
  journal.append([
    {
      at: clock.now(),
      dir: `${stateDir}/nowhere`,
      file: `${job.key}.md`,
      op: 'create',
      actor: 'external',
      reason: 'x',
      runId: runId(job),
      before: undefined,
      after: { hash: runId(job), text: 'x' },
      undoable: false,
      evidence: [],
    },
  ])
  journal.settle()
}

const kinds: JobKind[] = [
  {
    name: 'extract',
    model: 'always',
    alreadyDone,
    run: async (job, context) => {
      if (!(await worked(job, context))) return { failed: 'aborted' }
      const content = (part: string) =>
        printTopic({ name: part, description: `Said in ${job.key}, ${part}`, type: 'project', body: runId(job) })
      const writes = ['a', 'b'].map((part) => ({ file: `${job.key}_${part}.md`, content: content(part) }))
      await writer.write(job.dir ?? '', writes, { actor: 'agent:extract', reason: 'said', runId: runId(job) })
      return { done: null, runId: runId(job) }
    },
  },
  {
    name: 'import',
    model: 'never',
    alreadyDone,
    run: async (job, context) => {
      if (!(await worked(job, context))) return { failed: 'aborted' }
      record(job)
      return { done: null, runId: runId(job) }
    },
  },
  {
    name: 'notes',
    model: 'never',
    // What was noted up to the later one was noted up to the earlier one.
    alreadyDone: (job) => alreadyDone(job) || alreadyDone({ ...job, watermark: 'm2' }),
    run: async (job, context) => {
      // Goes on being used while it is looked at: another run has to follow.
      if (job.watermark === 'm1') jobs.enqueue({ ...job, watermark: 'm2', input: null }, clock.now())
      if (!(await worked(job, context))) return { failed: 'aborted' }
      record(job)
      return { done: null, runId: runId(job) }
    },
  },
]

/** Ends when it is told to, or after so many ms. */
const slow: JobKind = {
  name: 'slow',
  model: 'always',
  run: async (job, { signal }) => {
    process.stdout.write(`at ${job.id}\n`)
    const { ms } = job.input as { ms: number }
    await Promise.race([new Promise<void>((resolve) => clock.after(ms, resolve)), aborted(signal)])
    return signal.aborted ? { failed: 'aborted' } : { done: null }
  },
}

// There is a model as far as the runner is concerned: no kind asks it.
const models: Models = { ...createModels(core), mode: () => 'online', waits: () => undefined }
core.lifecycle.add('models', models.stop)
const report = (error: unknown) => {
  process.stderr.write(`${(error as Error).stack}\n`)
  process.exitCode = 1
}
const log = { ...core.log, error: (fields: unknown) => report((fields as { err: unknown }).err) }
const runner = createRunner({ ...core, log }, models, jobs, createJobClaims(store.index))
runner.register(...kinds, slow)
core.events.subscribe((event) => {
  if (event.type !== 'job') return
  const { queued, waiting, running } = jobs.counts()
  if (queued + waiting + running === 0) setImmediate(end)
})

core.lifecycle.add('jobs', runner.stop)

async function end(): Promise<void> {
  await core.stop(Number(drainMs))
  process.stdin.destroy()
}
process.once('SIGTERM', end)

runner.start()
// Keeps the process alive: no timer of ours does.
process.stdin.resume()
