/** Writes of people and agents: put, forget, remember. With review required, a model's change waits for a person. */
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Forgotten, MemoryType, Remembered, Written } from '../../schema/memory.ts'
import type { Clock } from '../platform/clock.ts'
import { type Catalogue, freeFile } from './catalogue.ts'
import { classify, nameFor } from './file-names.ts'
import { inFolder, readPresent } from './folder.ts'
import type { Places } from './place.ts'
import { shorten } from './pointer.ts'
import type { Purging } from './purging.ts'
import type { Reviews } from './review.ts'
import type { Tombstones } from './tombstones.ts'
import { parseTopic, printTopic } from './topic-file.ts'
import { forPeople, isAgent, type Redact, rejectedValues, withoutCredentials } from './write-checks.ts'
import type { By, Gate, Write } from './writer.ts'

type Deps = {
  places: Places
  gate: Gate
  reviews: Reviews
  tombstones: Tombstones
  catalogue: Catalogue
  purging: Purging
  redact: Redact
  clock: Clock
  reviewRequired: () => boolean
}

export type Writing = {
  put(cwd: string, caller: Caller, write: Write & { content: string }, reason: string): Promise<Written>
  forget(
    cwd: string,
    caller: Caller,
    file: string,
    how: { reject: boolean; purge?: boolean; ifHash: string | undefined },
  ): Promise<Forgotten>
  remember(cwd: string, caller: Caller, text: string, type: MemoryType | undefined): Promise<Remembered>
}

const EXCERPT_CHARS = 200

export function createWriting(deps: Deps): Writing {
  const { places, gate, reviews, tombstones, catalogue, purging, redact, clock, reviewRequired } = deps
  /** The review that now holds the change, when it is a model's and a person wants to see it first. */
  const wait = async (dir: string, write: Write, by: By): Promise<string | undefined> => {
    if (!reviewRequired() || !isAgent(by.actor)) return undefined
    // What could never be applied is refused now, not when a person has made up their mind.
    await gate.admit(dir, write, by)
    const before = inFolder(dir, (folder) => readPresent(folder, write.file))
    const clean = async (text: string | undefined) => (text === undefined ? undefined : (await redact(text)).text)
    const op = write.content === null ? 'delete' : before ? 'update' : 'create'
    const { actor, reason, runId, evidence = [] } = await withoutCredentials(by, redact)
    const id = reviews.add({
      at: clock.now(),
      dir,
      file: write.file,
      op,
      actor,
      reason,
      runId,
      baseHash: before?.hash,
      before: await clean(before?.text),
      after: await clean(write.content ?? undefined),
      evidence,
    })
    return String(id)
  }

  const write = async (dir: string, wish: Write & { content: string }, by: By): Promise<Written> => {
    const reviewId = await wait(dir, wish, by)
    if (reviewId) return { file: wish.file, reviewId, created: false, redacted: [], advice: [] }
    const [done] = await gate.apply(dir, [wish], by)
    if (!done) throw new Error('the gate applied nothing')
    const { id, file, hash, created, redacted, advice } = done
    return { file, changeId: String(id), ...(hash && { hash }), created, redacted, advice }
  }

  return {
    put: (cwd, caller, wish, reason) =>
      write(places.forWriting(cwd, caller).dir, wish, { actor: caller.actor, reason }),

    forget: async (cwd, caller, file, { reject, purge, ifHash }) => {
      const { dir } = places.forWriting(cwd, caller)
      if (purge) return purging.purge(dir, caller, file, { reject, ifHash })
      if (reject && isAgent(caller.actor)) throw forPeople('only a person may reject for good')
      const by = { actor: caller.actor, reason: reject ? 'rejected' : 'forgotten' }
      const reviewId = await wait(dir, { file, content: null, expect: ifHash }, by)
      if (reviewId) return { reviewId }
      const present = inFolder(dir, (folder) => readPresent(folder, file))
      const [done] = await gate.apply(dir, [{ file, content: null, expect: ifHash }], by)
      const changeId = String(done?.id)
      if (!reject || !present) return { changeId }
      // As it would be said again: what is written is compared without its credentials.
      const { text } = await redact(present.text)
      const { body, name } = parseTopic(text)
      const excerpt = shorten((body || (name ?? '')).replace(/\s+/g, ' ').trim(), EXCERPT_CHARS)
      const id = tombstones.add({ at: clock.now(), dir, file, excerpt }, rejectedValues(file, text))
      return { changeId, tombstoneId: String(id) }
    },

    remember: async (cwd, caller, said, given) => {
      if (said.trim() === '')
        throw new MemoryError('BAD_REQUEST', 'there is nothing to remember', { hint: 'say it in a sentence' })
      const { dir } = places.forWriting(cwd, caller)
      // Before it gets a name: a name is read and listed as much as a text.
      const { text, kinds } = await redact(said)
      const type = given ?? classify(text)
      const known = await catalogue.findSame(dir, text)
      if (known) return { file: known.file, type: known.type ?? type, action: 'updated', redacted: [] }
      const { name, description, file } = nameFor(text, type)
      // Two that wait under one name could never both be approved.
      const waiting = new Set(reviews.list().flatMap((review) => (review.dir === dir ? [review.file] : [])))
      const free = freeFile(dir, file, waiting)
      const content = printTopic({ name, description, type, body: text })
      const by = { actor: caller.actor, reason: 'asked to remember' }
      const { changeId, reviewId, redacted } = await write(dir, { file: free, content, expect: null }, by)
      return {
        file: free,
        ...(changeId && { changeId }),
        ...(reviewId && { reviewId }),
        type,
        action: 'created',
        redacted: [...new Set([...kinds, ...redacted])],
      }
    },
  }
}
