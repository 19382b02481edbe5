/** What an extraction changes in a directory, with a model or without, as one run that can be undone as one. */
import { statSync } from 'node:fs'
import type { Caller } from '../../schema/caller.ts'
import type { MemoryType } from '../../schema/values.ts'
import type { Core } from '../core.ts'
import type { Projects } from '../projects/projects.ts'
import { type Catalogue, freeFile } from './catalogue.ts'
import { appended, logFile, logLine, nameFor } from './file-names.ts'
import { openMemoryFolder, readMemoryFile } from './folder.ts'
import { type Evidence, newRunId } from './journal.ts'
import { oneLine } from './pointer.ts'
import type { Reviews } from './review.ts'
import { manifest } from './scan.ts'
import { normaliseValue } from './tombstones.ts'
import { parseTopic, printTopic, splitFrontMatter, updateTopic } from './topic-file.ts'
import { type Author, isRefusal, type Write } from './write-checks.ts'
import type { Batch, Writer } from './writer.ts'

export type RunWrite = Write & { because: NonNullable<Write['because']> }

export type ChangeRun = ReturnType<ReturnType<typeof createChangeRuns>['beginRun']>

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
  mayWrite: () => boolean
}

type Run = RunOptions & {
  cwd: string
  env: Caller['env']
  memories: readonly NewMemory[]
  /** The day whose log they go into, such as 2026-03-31, where memories go into logs. */
  logDay?: string | undefined
}

type RunSaved = { runId: string; saved: string[]; waiting: number; known: number; refused: number } | 'lost'

type Planned = { files: string[]; known: number; refused: number }

const CAP_UNTRUSTED_UNITS = 256 * 1024

export function createChangeRuns(
  core: Core,
  projects: Projects,
  writer: Writer,
  catalogue: Catalogue,
  reviews: Reviews,
) {
  const waitingIn = (dir: string) =>
    [...reviews.filesIn(dir)].map((file) => `- ${oneLine(file)}: waits for review, and is not to be written`)
  /** Under names that no file has, no change that waits for review, and no other memory of this run. */
  const planFiles = async (dir: string, memories: readonly NewMemory[], batch: Batch): Promise<Planned> => {
    const values = new Set<string>()
    for (const { after } of reviews.list(dir))
      if (after !== undefined) values.add(normaliseValue(parseTopic(after).body))
    const isKnown = async (text: string) =>
      values.has(normaliseValue(text)) || (await catalogue.findSame(dir, text)) !== undefined
    const names = reviews.filesIn(dir)
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
    save: ({ cwd, env, memories, logDay, ...options }: Run): Promise<RunSaved> => {
      const runId = newRunId('extract', core.clock.now())
      const author: Author = { actor: `agent:${runId}`, reason: 'stated by a person', runId }
      const { dir } = projects.forWriting(cwd, { actor: author.actor, env })
      return writer.change<RunSaved>(dir, author, async (batch) => {
        const plan = logDay === undefined ? planFiles(dir, memories, batch) : planLog(dir, logDay, memories, batch)
        const { files, known, refused } = await plan
        const done = await endRun(core, batch, files, options)
        return done === 'lost' ? done : { runId, ...done, known, refused }
      })
    },
    beginRun: ({ cwd, env }: Pick<Run, 'cwd' | 'env'>) => {
      const runId = newRunId('extract', core.clock.now())
      const author: Author = { actor: `agent:${runId}`, reason: 'found by a run (extract)', runId }
      const { dir } = projects.forWriting(cwd, { actor: author.actor, env })
      const present = (file: string) => statSync(dir, { throwIfNoEntry: false }) && readMemoryFile(dir, file)
      const listed = () => (statSync(dir, { throwIfNoEntry: false }) ? catalogue.list(dir).items : [])
      return {
        runId,
        manifest: [manifest(listed()), ...waitingIn(dir)].filter((lines) => lines !== '').join('\n'),
        textOf: (file: string): string => present(file)?.text ?? '',
        hashOf: (file: string): string | undefined => present(file)?.hash,
        untrustedTexts: (): string[] => {
          let left = CAP_UNTRUSTED_UNITS
          return listed()
            .filter(({ trust }) => trust === 'untrusted')
            .flatMap(({ file }) => {
              const text = left > 0 ? (present(file)?.text ?? '').slice(0, left) : ''
              left -= text.length
              return text === '' ? [] : [text]
            })
        },
        refuses: async (write: RunWrite): Promise<string | undefined> => {
          if (reviews.filesIn(dir).has(write.file)) return `${write.file} waits for review; leave it until then`
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

async function endRun(
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

const FIELD = /^(?:---.*|["']?(?:name|description|type|trust|evidence|metadata)["']?[ \t]*:.*|[ \t]+type[ \t]*:.*)$/i

export function memoryOf(text: string) {
  const { name = '', description = '', type, trust, body, raw, problem } = parseTopic(text)
  const rest = raw
    .split(/\r?\n/)
    .filter((line) => !FIELD.test(line))
    .join('\n')
  return { text, name, description, body, rest, type, untrusted: trust === 'untrusted', problem }
}

export function markUntrusted(text: string): string {
  const block = splitFrontMatter(text)
  const lines = block?.yaml.match(/^[ \t]*["']?trust["']?[ \t]*:/gim) ?? []
  if (!block || lines.length === 0) return updateTopic(text, { trust: 'untrusted' })
  const { head, yaml, tail, body } = block
  const without = yaml.replace(/^["']?trust["']?[ \t]*:[^\n]*\n?(?:[ \t]+[^\n]*\n?)*/gim, '')
  return updateTopic(head + without + tail + body, { trust: 'untrusted' })
}

/** A line for the daemon, which is not kept in the file. */
const EVIDENCE = /^evidence[ \t]*:[ \t]*(.*)\r?\n?/im

export function evidenceIn(text: string): { names: string[]; text: string } {
  const block = splitFrontMatter(text)
  const [line, named = ''] = EVIDENCE.exec(block?.yaml ?? '') ?? []
  if (!block || line === undefined) return { names: [], text }
  const { head, yaml, tail, body } = block
  return { names: named.match(/[\w-]+/g) ?? [], text: head + yaml.replace(EVIDENCE, '') + tail + body }
}
