/** Writes of persons and agents: put, forget, remember. With review required, a model's change waits for a person. */
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Forgotten, Remembered, Written } from '../../schema/memory.ts'
import type { MemoryType } from '../../schema/values.ts'
import type { Core } from '../core.ts'
import type { ProjectFinder } from '../projects/projects.ts'
import { redact } from '../secrets/redact.ts'
import { type Catalogue, freeFile } from './catalogue.ts'
import { classify, nameFor } from './file-names.ts'
import type { Reviews } from './review.ts'
import { excerptOf, rejectedValues, type Tombstones } from './tombstones.ts'
import { parseTopic, printTopic } from './topic-file.ts'
import { type Author, isAgent, onlyForPersons, type Write, waitsForReview } from './write-checks.ts'
import type { Writer } from './writer.ts'

export function createRemember(
  core: Core,
  places: ProjectFinder,
  writer: Writer,
  reviews: Reviews,
  tombstones: Tombstones,
  catalogue: Catalogue,
) {
  const write = (dir: string, wish: Write & { content: string }, author: Author): Promise<Written> =>
    writer.change(dir, author, async (batch) => {
      // Also where it waits: a change that could never be written is refused now.
      await batch.addRecorded(wish)
      if (waitsForReview(core, author.actor)) {
        const [reviewId] = batch.hold()
        return { file: wish.file, reviewId: String(reviewId), created: false, redacted: [], advice: [] }
      }
      const [done] = await batch.commit()
      if (!done) throw new Error('nothing was written')
      const { id, hash, ...rest } = done
      return { ...rest, changeId: String(id), ...(hash && { hash }) }
    })

  return {
    dirOf: (cwd: string, caller: Caller): string => places.forWriting(cwd, caller).dir,

    put: (cwd: string, caller: Caller, wish: Write & { content: string }, reason: string): Promise<Written> =>
      write(places.forWriting(cwd, caller).dir, wish, { actor: caller.actor, reason }),

    forget: async (
      cwd: string,
      caller: Caller,
      file: string,
      { reject, ifHash }: { reject: boolean; ifHash: string | undefined },
    ): Promise<Forgotten> => {
      const { dir } = places.forWriting(cwd, caller)
      const { actor } = caller
      if (reject && isAgent(actor)) throw onlyForPersons('only a person may reject for good')
      return writer.change(dir, { actor, reason: reject ? 'rejected' : 'forgotten' }, async (batch) => {
        const { before, beforeText } = await batch.addRecorded({ file, content: null, expect: ifHash })
        if (waitsForReview(core, actor)) return { reviewId: String(batch.hold()[0]) }
        let tombstone: number | undefined
        const [done] = await batch.commit(() => {
          if (!reject || !before) return undefined
          const { body, name } = parseTopic(beforeText)
          const excerpt = excerptOf(body || (name ?? ''))
          const values = rejectedValues(file, beforeText)
          const id = tombstones.add({ at: core.clock.now(), dir, file, excerpt }, values)
          tombstone = id
          return () => void tombstones.lift(id)
        })
        return { changeId: String(done?.id), ...(tombstone !== undefined && { tombstoneId: String(tombstone) }) }
      })
    },

    remember: async (cwd: string, caller: Caller, said: string, given: MemoryType | undefined): Promise<Remembered> => {
      if (said.trim() === '')
        throw new MemoryError('BAD_REQUEST', 'there is nothing to remember', { hint: 'say it in a sentence' })
      const { dir } = places.forWriting(cwd, caller)
      // Before it gets a name: names are read and listed like texts.
      const { text, kinds } = await redact(said)
      const type = given ?? classify(text)
      const known = await catalogue.findSame(dir, text)
      if (known) return { file: known.file, type: known.type ?? type, action: 'updated', redacted: [] }
      const { name, description, file } = nameFor(text, type)
      // Two that wait under one name could never both be approved.
      const free = freeFile(dir, file, reviews.filesIn(dir))
      const content = printTopic({ name, description, type, body: text })
      const author = { actor: caller.actor, reason: 'asked to remember' }
      const { changeId, reviewId, redacted } = await write(dir, { file: free, content, expect: null }, author)
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
