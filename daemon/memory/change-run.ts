/**
 * What a run of a model wants to change in a directory: shown to it, checked while it goes on, and applied at its end as
 * one change that can be undone as one.
 */
import { statSync } from 'node:fs'
import type { Caller } from '../../schema/caller.ts'
import type { MemoryType } from '../../schema/memory.ts'
import type { Clock } from '../platform/clock.ts'
import type { Catalogue } from './catalogue.ts'
import { inFolder, openIn, readPresent } from './folder.ts'
import { splitFrontMatter } from './front-matter-edit.ts'
import { newRunId } from './journal.ts'
import type { Places } from './place.ts'
import { oneLine } from './pointer.ts'
import type { Reviews } from './review.ts'
import type { Applying, RunWrite } from './save.ts'
import { manifest } from './scan.ts'
import { parseTopic, updateTopic } from './topic-file.ts'
import { isRefusal } from './write-checks.ts'
import type { Along, By, Gate } from './writer.ts'

export type ChangeRun = {
  runId: string
  /** One line for each memory there is. */
  manifest: string
  /** What a file holds now; nothing where there is none. */
  textOf(file: string): string
  hashOf(file: string): string | undefined
  /** The texts of those that are nobody's word, the newest first and not without end. */
  untrustedTexts(): string[]
  /** Why it would be refused, if it would. Whatever else is wrong is no answer for a model, and thrown. */
  refuses(write: RunWrite): Promise<string | undefined>
  apply(
    writes: readonly RunWrite[],
    at: { along: (files: string[]) => Along; mayWrite: () => boolean },
  ): Promise<{ saved: string[]; waiting: number; refused: number } | 'lost'>
}

export type Changing = {
  begin(run: { kind: 'extract'; cwd: string; env: Caller['env'] }): ChangeRun
}

type Deps = {
  places: Places
  gate: Gate
  applying: Applying
  catalogue: Catalogue
  reviews: Reviews
  clock: Clock
}

const CAP_UNTRUSTED_UNITS = 256 * 1024

export function createChanging({ places, gate, applying, catalogue, reviews, clock }: Deps): Changing {
  const waitingFiles = (dir: string) =>
    new Set(reviews.list().flatMap((review) => (review.dir === dir ? [review.file] : [])))
  const waitingIn = (dir: string) =>
    [...waitingFiles(dir)].map((file) => `- ${oneLine(file)}: waits for the person's word, and is not to be written`)
  return {
    begin: ({ kind, cwd, env }) => {
      const runId = newRunId(kind, clock.now())
      const by: By = { actor: `agent:${runId}`, reason: `found by a run (${kind})`, runId }
      const { dir } = places.forWriting(cwd, { actor: by.actor, env })
      const present = (file: string) =>
        statSync(dir, { throwIfNoEntry: false }) && inFolder(dir, (folder) => readPresent(folder, file))
      return {
        runId,
        manifest: [
          statSync(dir, { throwIfNoEntry: false }) ? manifest(catalogue.list(dir).items) : '',
          ...waitingIn(dir),
        ]
          .filter((lines) => lines !== '')
          .join('\n'),
        textOf: (file) => present(file)?.text ?? '',
        hashOf: (file) => present(file)?.hash,
        untrustedTexts: () => {
          if (!statSync(dir, { throwIfNoEntry: false })) return []
          let left = CAP_UNTRUSTED_UNITS
          const untrusted = catalogue.list(dir).items.filter(({ trust }) => trust === 'untrusted')
          return untrusted
            .toSorted((a, b) => b.modifiedMs - a.modifiedMs)
            .flatMap(({ file }) => {
              const text = left > 0 ? (present(file)?.text ?? '').slice(0, left) : ''
              left -= text.length
              return text === '' ? [] : [text]
            })
        },
        refuses: async (write) => {
          if (waitingFiles(dir).has(write.file)) return `${write.file} waits for the person's word; leave it until then`
          // A folder that is not there is not the fault of what is written: nothing is passed by because of it.
          openIn(dir).close()
          try {
            await gate.check(dir, write, by)
            return undefined
          } catch (error) {
            if (isRefusal(error)) return error.message
            throw error
          }
        },
        apply: (writes, { along, mayWrite }) =>
          gate.alone(dir, async (apply) => {
            const admitted: RunWrite[] = []
            for (const write of writes) if (await applying.admitted(dir, write, by)) admitted.push(write)
            const done = await applying.applyAll(dir, admitted, by, { apply, along, mayWrite })
            return done === 'lost' ? done : { ...done, refused: writes.length - admitted.length }
          }),
      }
    },
  }
}

/** What decides what may become of a text that a model wrote. `rest`: what the front matter says besides. */
export type ReadMemory = {
  text: string
  name: string
  description: string
  body: string
  rest: string
  type: MemoryType | undefined
  untrusted: boolean
  problem: string | undefined
}

const FIELD = /^(?:---.*|["']?(?:name|description|type|trust|evidence|metadata)["']?[ \t]*:.*|[ \t]+type[ \t]*:.*)$/i

export function memoryOf(text: string): ReadMemory {
  const { name = '', description = '', type, trust, body, raw, problem } = parseTopic(text)
  const rest = raw
    .split(/\r?\n/)
    .filter((line) => !FIELD.test(line))
    .join('\n')
  return { text, name, description, body, rest, type, untrusted: trust === 'untrusted', problem }
}

/** Exactly one mark, whatever stood there. */
export function markUntrusted(text: string): string {
  const block = splitFrontMatter(text)
  const lines = block?.yaml.match(/^[ \t]*["']?trust["']?[ \t]*:/gim) ?? []
  if (!block || lines.length === 0) return updateTopic(text, { trust: 'untrusted' })
  const { head, yaml, tail, body } = block
  const without = yaml.replace(/^["']?trust["']?[ \t]*:[^\n]*\n?(?:[ \t]+[^\n]*\n?)*/gim, '')
  return updateTopic(head + without + tail + body, { trust: 'untrusted' })
}

/** A line of the front matter that says what a memory rests on: for us, and not for whoever reads it. */
const EVIDENCE = /^evidence[ \t]*:[ \t]*(.*)\r?\n?/im

export function evidenceIn(text: string): { names: string[]; text: string } {
  const block = splitFrontMatter(text)
  const [line, named = ''] = EVIDENCE.exec(block?.yaml ?? '') ?? []
  if (!block || line === undefined) return { names: [], text }
  const { head, yaml, tail, body } = block
  return { names: named.match(/[\w-]+/g) ?? [], text: head + yaml.replace(EVIDENCE, '') + tail + body }
}
