/**
 * The writes of a run of our own: what is refused is left out and recorded, the rest is applied as a whole, or waits for
 * review as a whole. What the run has to remember of itself is in the same transaction.
 */

import type { Caller } from '../../schema/caller.ts'
import type { MemoryType } from '../../schema/memory.ts'
import type { Clock } from '../platform/clock.ts'
import { type Catalogue, freeFile } from './catalogue.ts'
import { appended, logFile, logLine, nameFor } from './file-names.ts'
import { inFolder, readPresent } from './folder.ts'
import { type Evidence, newRunId } from './journal.ts'
import type { Places } from './place.ts'
import type { Reviews } from './review.ts'
import { normaliseValue } from './tombstones.ts'
import { parseTopic, printTopic } from './topic-file.ts'
import { isRefusal, type Redact, withoutCredentials } from './write-checks.ts'
import type { Along, Apply, By, Gate, Write } from './writer.ts'

export type RunWrite = Write & { because: NonNullable<Write['because']> }

export type Applied = { saved: string[]; waiting: number } | 'lost'

type Deps = { gate: Gate; reviews: Reviews; redact: Redact; clock: Clock; reviewRequired: () => boolean }

export type Applying = {
  /** One that is refused, for it was rejected say, keeps the others from nothing. */
  admitted(dir: string, write: RunWrite, by: By): Promise<boolean>
  /** For whoever is alone with the directory. */
  applyAll(
    dir: string,
    writes: readonly RunWrite[],
    by: By,
    at: { apply: Apply; along: (files: string[]) => Along; mayWrite: () => boolean },
  ): Promise<Applied>
}

export function createApplying({ gate, reviews, redact, clock, reviewRequired }: Deps): Applying {
  const review = async (dir: string, { file, content, expect, because }: RunWrite, { actor, runId }: By) => {
    const told = await withoutCredentials({ actor, ...because }, redact)
    const before = typeof expect === 'string' ? inFolder(dir, (folder) => readPresent(folder, file)) : undefined
    return {
      at: clock.now(),
      dir,
      file,
      op: content === null ? ('delete' as const) : before ? ('update' as const) : ('create' as const),
      actor: told.actor,
      reason: told.reason,
      runId,
      baseHash: before?.hash,
      before: before && (await redact(before.text)).text,
      after: content === null ? undefined : (await redact(content)).text,
      evidence: told.evidence ?? [],
    }
  }

  return {
    admitted: async (dir, write, by) => {
      try {
        await gate.admit(dir, write, by)
        return true
      } catch (error) {
        if (isRefusal(error)) return false
        throw error
      }
    },
    applyAll: async (dir, writes, by, { apply, along, mayWrite }) => {
      const held = reviewRequired() ? await Promise.all(writes.map((write) => review(dir, write, by))) : []
      if (!mayWrite()) return 'lost'
      if (writes.length === 0 || held.length > 0) reviews.addAll(held, along([]).before)
      const saved = held.length > 0 ? [] : writes.map(({ file }) => file)
      if (saved.length > 0) await apply(writes, by, along(saved))
      return { saved, waiting: held.length }
    },
  }
}

/** Several new memories as one run of our own: each a file, or all of them lines of the day's log. What is known already is left out. */

export type NewMemory = {
  type: MemoryType
  name: string
  description: string
  body: string
  reason: string
  evidence: readonly Evidence[]
}

export type Run = {
  kind: 'extract'
  cwd: string
  env: Caller['env']
  memories: readonly NewMemory[]
  /** The day whose log they go into, such as 2026-03-31, where memories go into logs. */
  logDay?: string | undefined
  /** `files`: what is saved with it. */
  along: (files: string[]) => Along
  /** Asked right before anything is changed. */
  mayWrite: () => boolean
}

export type RunSaved = { runId: string; saved: string[]; waiting: number; known: number; refused: number } | 'lost'

export type Saving = { save(run: Run): Promise<RunSaved> }

type SavingDeps = {
  places: Places
  gate: Gate
  reviews: Reviews
  catalogue: Catalogue
  applying: Applying
  clock: Clock
}

type Plan = { writes: RunWrite[]; known: number; refused: number }

export function createSaving({ places, gate, reviews, catalogue, applying, clock }: SavingDeps): Saving {
  /** Under names that neither a file has, nor one that waits, nor another of this run. */
  const plan = async (dir: string, memories: readonly NewMemory[], by: By): Promise<Plan> => {
    const waiting = reviews.list().filter((review) => review.dir === dir)
    const values = new Set<string>()
    for (const { after } of waiting) if (after !== undefined) values.add(normaliseValue(parseTopic(after).body))
    const isKnown = async (text: string) =>
      values.has(normaliseValue(text)) || (await catalogue.findSame(dir, text)) !== undefined
    const names = new Set(waiting.map(({ file }) => file))
    const made: Plan = { writes: [], known: 0, refused: 0 }
    for (const memory of memories) {
      // The first paragraph is what is said, the others say why and when.
      const [said = ''] = memory.body.split('\n\n')
      if ((await isKnown(memory.body)) || (await isKnown(said))) {
        made.known++
        continue
      }
      const file = freeFile(dir, nameFor(memory.name, memory.type).file, names)
      const write = { file, content: printTopic(memory), expect: null, because: memory }
      if (!(await applying.admitted(dir, write, by))) {
        made.refused++
        continue
      }
      names.add(file)
      for (const text of [memory.body, said]) values.add(normaliseValue(text))
      made.writes.push(write)
    }
    return made
  }

  const planLog = async (dir: string, day: string, memories: readonly NewMemory[], by: By): Promise<Plan> => {
    const file = logFile(day)
    const log = inFolder(dir, (folder) => readPresent(folder, file))
    const held = new Set((log?.text ?? '').split('\n').map(normaliseValue))
    const fresh = memories.filter((memory) => !held.has(normaliseValue(logLine(memory))))
    const known = memories.length - fresh.length
    if (fresh.length === 0) return { writes: [], known, refused: 0 }
    const content = appended(log?.text ?? '', fresh.map(logLine))
    const because = { reason: 'stated by a person', evidence: fresh.flatMap(({ evidence }) => evidence) }
    const write = { file, content, expect: log?.hash ?? null, because }
    return (await applying.admitted(dir, write, by))
      ? { writes: [write], known, refused: 0 }
      : { writes: [], known, refused: fresh.length }
  }

  return {
    save: ({ kind, cwd, env, memories, logDay, along, mayWrite }) => {
      const runId = newRunId(kind, clock.now())
      const by: By = { actor: `agent:${runId}`, reason: 'stated by a person', runId }
      const { dir } = places.forWriting(cwd, { actor: by.actor, env })
      return gate.alone<RunSaved>(dir, async (apply) => {
        const planned = logDay === undefined ? plan(dir, memories, by) : planLog(dir, logDay, memories, by)
        const { writes, known, refused } = await planned
        const done = await applying.applyAll(dir, writes, by, { apply, along, mayWrite })
        return done === 'lost' ? done : { runId, ...done, known, refused }
      })
    },
  }
}
