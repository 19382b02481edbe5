/** Saves new memories of a run: each as a file, or all as lines of the day's log. What is known already is left out. */
import type { Caller } from '../../schema/caller.ts'
import type { MemoryType } from '../../schema/memory.ts'
import type { Core } from '../core.ts'
import type { Projects } from '../projects/projects.ts'
import { type Catalogue, freeFile } from './catalogue.ts'
import { appended, logFile, logLine, nameFor } from './file-names.ts'
import { readMemoryFile } from './folder.ts'
import { type Evidence, newRunId } from './journal.ts'
import type { Reviews } from './review.ts'
import { normaliseValue } from './tombstones.ts'
import { parseTopic, printTopic } from './topic-file.ts'
import type { Author } from './write-checks.ts'
import type { Batch, Writer } from './writer.ts'

export type NewMemory = {
  type: MemoryType
  name: string
  description: string
  body: string
  reason: string
  evidence: readonly Evidence[]
}

export type RunOptions = {
  /** Runs first in the transaction that saves `files`; what it returns runs in the one that takes them back. */
  inTransaction: (files: string[]) => () => void
  /** Asked right before anything is changed. */
  mayWrite: () => boolean
}

export type Run = RunOptions & {
  kind: 'extract'
  cwd: string
  env: Caller['env']
  memories: readonly NewMemory[]
  /** The day whose log they go into, such as 2026-03-31, where memories go into logs. */
  logDay?: string | undefined
}

export type RunSaved = { runId: string; saved: string[]; waiting: number; known: number; refused: number } | 'lost'

type Planned = { files: string[]; known: number; refused: number }

export function createSave(core: Core, projects: Projects, writer: Writer, reviews: Reviews, catalogue: Catalogue) {
  /** Under names that no file has, no change that waits, and no other memory of this run. */
  const planFiles = async (dir: string, memories: readonly NewMemory[], batch: Batch): Promise<Planned> => {
    const waiting = reviews.list().filter((review) => review.dir === dir)
    const values = new Set<string>()
    for (const { after } of waiting) if (after !== undefined) values.add(normaliseValue(parseTopic(after).body))
    const isKnown = async (text: string) =>
      values.has(normaliseValue(text)) || (await catalogue.findSame(dir, text)) !== undefined
    const names = new Set(waiting.map(({ file }) => file))
    const plan: Planned = { files: [], known: 0, refused: 0 }
    for (const memory of memories) {
      // The first paragraph is the statement, the others say why and when.
      const [said = ''] = memory.body.split('\n\n')
      if ((await isKnown(memory.body)) || (await isKnown(said))) {
        plan.known++
        continue
      }
      const file = freeFile(dir, nameFor(memory.name, memory.type).file, names)
      if (!(await batch.offer({ file, content: printTopic(memory), expect: null, because: memory }))) {
        plan.refused++
        continue
      }
      names.add(file)
      for (const text of [memory.body, said]) values.add(normaliseValue(text))
      plan.files.push(file)
    }
    return plan
  }

  const planLog = async (dir: string, day: string, memories: readonly NewMemory[], batch: Batch): Promise<Planned> => {
    const file = logFile(day)
    const log = readMemoryFile(dir, file)
    const held = new Set((log?.text ?? '').split('\n').map(normaliseValue))
    const fresh = memories.filter((memory) => !held.has(normaliseValue(logLine(memory))))
    const known = memories.length - fresh.length
    if (fresh.length === 0) return { files: [], known, refused: 0 }
    const content = appended(log?.text ?? '', fresh.map(logLine))
    const because = { reason: 'stated by a person', evidence: fresh.flatMap(({ evidence }) => evidence) }
    return (await batch.offer({ file, content, expect: log?.hash ?? null, because }))
      ? { files: [file], known, refused: 0 }
      : { files: [], known, refused: fresh.length }
  }

  return {
    save: ({ kind, cwd, env, memories, logDay, ...options }: Run): Promise<RunSaved> => {
      const runId = newRunId(kind, core.clock.now())
      const author: Author = { actor: `agent:${runId}`, reason: 'stated by a person', runId }
      const { dir } = projects.forWriting(cwd, { actor: author.actor, env })
      return writer.change<RunSaved>(dir, author, async (batch) => {
        const plan = logDay === undefined ? planFiles(dir, memories, batch) : planLog(dir, logDay, memories, batch)
        const { files, known, refused } = await plan
        const done = await endRun(core, batch, files, options)
        return done === 'lost' ? done : { runId, ...done, known, refused }
      })
    },
  }
}

/** Writes the batch as a whole, or has it wait as a whole where a person wants to see it first. */
export async function endRun(
  { settings }: Core,
  batch: Batch,
  files: string[],
  { inTransaction, mayWrite }: RunOptions,
): Promise<{ saved: string[]; waiting: number } | 'lost'> {
  if (!mayWrite()) return 'lost'
  if (files.length === 0 || settings.current().review === 'required') {
    batch.hold(() => inTransaction([]))
    return { saved: [], waiting: files.length }
  }
  await batch.commit(() => inTransaction(files))
  return { saved: files, waiting: 0 }
}
