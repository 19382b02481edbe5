/**
 * What a run of a model wants to change in a directory: shown to it, checked while it goes on, and applied at its end as
 * one change that can be undone as one.
 */
import { statSync } from 'node:fs'
import type { Caller } from '../../schema/caller.ts'
import type { MemoryType } from '../../schema/memory.ts'
import type { Core } from '../core.ts'
import type { Projects } from '../projects/projects.ts'
import type { Catalogue } from './catalogue.ts'
import { openMemoryFolder, readMemoryFile } from './folder.ts'
import { splitFrontMatter } from './front-matter-edit.ts'
import { newRunId } from './journal.ts'
import { oneLine } from './pointer.ts'
import type { Reviews } from './review.ts'
import { endRun, type RunOptions } from './save.ts'
import { manifest } from './scan.ts'
import { parseTopic, updateTopic } from './topic-file.ts'
import { type Author, isRefusal, type Write } from './write-checks.ts'
import type { Writer } from './writer.ts'

export type RunWrite = Write & { because: NonNullable<Write['because']> }

export type ChangeRun = ReturnType<ReturnType<typeof createChangeRuns>['beginRun']>

const CAP_UNTRUSTED_UNITS = 256 * 1024

export function createChangeRuns(
  core: Core,
  projects: Projects,
  writer: Writer,
  catalogue: Catalogue,
  reviews: Reviews,
) {
  const waitingFiles = (dir: string) =>
    new Set(reviews.list().flatMap((review) => (review.dir === dir ? [review.file] : [])))
  const waitingIn = (dir: string) =>
    [...waitingFiles(dir)].map((file) => `- ${oneLine(file)}: waits for the person's word, and is not to be written`)
  return {
    beginRun: ({ kind, cwd, env }: { kind: 'extract'; cwd: string; env: Caller['env'] }) => {
      const runId = newRunId(kind, core.clock.now())
      const author: Author = { actor: `agent:${runId}`, reason: `found by a run (${kind})`, runId }
      const { dir } = projects.forWriting(cwd, { actor: author.actor, env })
      const present = (file: string) => statSync(dir, { throwIfNoEntry: false }) && readMemoryFile(dir, file)
      const listed = () => (statSync(dir, { throwIfNoEntry: false }) ? catalogue.list(dir).items : [])
      return {
        runId,
        /** One line for each memory there is. */
        manifest: [manifest(listed()), ...waitingIn(dir)].filter((lines) => lines !== '').join('\n'),
        /** What a file holds now; nothing where there is none. */
        textOf: (file: string): string => present(file)?.text ?? '',
        hashOf: (file: string): string | undefined => present(file)?.hash,
        /** The texts of memories that no person vouches for, the newest first and not without end. */
        untrustedTexts: (): string[] => {
          let left = CAP_UNTRUSTED_UNITS
          return listed()
            .filter(({ trust }) => trust === 'untrusted')
            .toSorted((a, b) => b.modifiedMs - a.modifiedMs)
            .flatMap(({ file }) => {
              const text = left > 0 ? (present(file)?.text ?? '').slice(0, left) : ''
              left -= text.length
              return text === '' ? [] : [text]
            })
        },
        /** Why a write would be refused. Any other error is no answer for a model, and thrown. */
        refuses: async (write: RunWrite): Promise<string | undefined> => {
          if (waitingFiles(dir).has(write.file)) return `${write.file} waits for the person's word; leave it until then`
          // A folder that cannot be made is not the fault of the write.
          openMemoryFolder(dir).close()
          try {
            await writer.check(dir, write, author)
            return undefined
          } catch (error) {
            if (isRefusal(error)) return error.message
            throw error
          }
        },
        apply: (writes: readonly RunWrite[], options: RunOptions) =>
          writer.change(dir, author, async (batch) => {
            const files: string[] = []
            for (const write of writes) if (await batch.offer(write)) files.push(write.file)
            const done = await endRun(core, batch, files, options)
            return done === 'lost' ? done : { ...done, refused: writes.length - files.length }
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

/** A line of the front matter that says what a memory rests on: for the daemon, not for readers. */
const EVIDENCE = /^evidence[ \t]*:[ \t]*(.*)\r?\n?/im

export function evidenceIn(text: string): { names: string[]; text: string } {
  const block = splitFrontMatter(text)
  const [line, named = ''] = EVIDENCE.exec(block?.yaml ?? '') ?? []
  if (!block || line === undefined) return { names: [], text }
  const { head, yaml, tail, body } = block
  return { names: named.match(/[\w-]+/g) ?? [], text: head + yaml.replace(EVIDENCE, '') + tail + body }
}
