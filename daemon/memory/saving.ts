/**
 * Several new memories as one run of our own: what is known already or refused is left out, the rest is saved as a whole,
 * or waits for review as a whole. What the run has to remember of itself is in the same transaction.
 */
import type { Caller } from '../../schema/caller.ts'
import type { MemoryType } from '../../schema/memory.ts'
import type { Clock } from '../platform/clock.ts'
import type { Evidence } from '../store/journal.ts'
import type { Reviews } from '../store/reviews.ts'
import { nameFor } from './classify.ts'
import { type Existing, freeFile, memoriesByValue } from './existing.ts'
import type { Along, Gate } from './gate.ts'
import { type Redact, withoutCredentials } from './judge.ts'
import type { Places } from './place.ts'
import { isRefusal } from './refusal.ts'
import { newRunId } from './run-id.ts'
import { parseTopic, printTopic } from './topic-file.ts'
import { normaliseValue } from './values.ts'
import type { By, Write } from './write.ts'

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
  /** `files`: what is saved with it. */
  along: (files: string[]) => Along
  /** Asked right before anything is changed. */
  mayWrite: () => boolean
}

export type RunSaved = { runId: string; saved: string[]; waiting: number; known: number; refused: number } | 'lost'

export type Saving = { save(run: Run): Promise<RunSaved> }

type Deps = {
  places: Places
  gate: Gate
  reviews: Reviews
  redact: Redact
  clock: Clock
  reviewRequired: () => boolean
}

type Planned = { write: Write & { content: string; because: NonNullable<Write['because']> }; value: string }
type Plan = { writes: Planned['write'][]; known: number; refused: number }

export function createSaving({ places, gate, reviews, redact, clock, reviewRequired }: Deps): Saving {
  /** Under names that neither a file has, nor one that waits, nor another of this run. */
  const plan = async (dir: string, memories: readonly NewMemory[], by: By): Promise<Plan> => {
    const waiting = reviews.list().filter((review) => review.dir === dir)
    const values = new Map<string, Existing>(memoriesByValue(dir))
    for (const { file, after } of waiting)
      if (after !== undefined) values.set(normaliseValue(parseTopic(after).body), { file })
    const names = new Set(waiting.map(({ file }) => file))
    const made: Plan = { writes: [], known: 0, refused: 0 }
    for (const memory of memories) {
      // The first paragraph is what is said, the others say why and when.
      const said = [memory.body, memory.body.split('\n\n')[0] ?? ''].map(normaliseValue)
      if (said.some((value) => values.has(value))) {
        made.known++
        continue
      }
      const file = freeFile(dir, nameFor(memory.name, memory.type).file, names)
      const write = { file, content: printTopic(memory), expect: null, because: memory }
      if (!(await admitted(dir, write, by))) {
        made.refused++
        continue
      }
      names.add(file)
      for (const value of said) values.set(value, { file })
      made.writes.push(write)
    }
    return made
  }

  /** One that is refused, for it was rejected say, keeps the others from nothing. */
  const admitted = async (dir: string, write: Planned['write'], by: By): Promise<boolean> => {
    try {
      await gate.admit(dir, write, by)
      return true
    } catch (error) {
      if (isRefusal(error)) return false
      throw error
    }
  }

  const review = async (dir: string, write: Planned['write'], by: By) => {
    const { actor, reason, evidence = [] } = await withoutCredentials({ actor: by.actor, ...write.because }, redact)
    const after = (await redact(write.content)).text
    const { runId } = by
    const nothing = { baseHash: undefined, before: undefined }
    return {
      at: clock.now(),
      dir,
      file: write.file,
      op: 'create' as const,
      actor,
      reason,
      runId,
      ...nothing,
      after,
      evidence,
    }
  }

  return {
    save: ({ kind, cwd, env, memories, along, mayWrite }) => {
      const runId = newRunId(kind, clock.now())
      const by: By = { actor: `agent:${runId}`, reason: 'stated by a person', runId }
      const { dir } = places.forWriting(cwd, { actor: by.actor, env })
      return gate.alone<RunSaved>(dir, async (apply) => {
        const { writes, known, refused } = await plan(dir, memories, by)
        const held = reviewRequired() ? await Promise.all(writes.map((write) => review(dir, write, by))) : []
        if (!mayWrite()) return 'lost'
        if (writes.length === 0 || held.length > 0) reviews.addAll(held, along([]).before)
        const saved = held.length > 0 ? [] : writes.map(({ file }) => file)
        if (saved.length > 0) await apply(writes, by, along(saved))
        return { runId, saved, waiting: held.length, known, refused }
      })
    },
  }
}
