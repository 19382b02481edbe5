/**
 * What a run of a model wants to change in a directory: shown to it, checked while it goes on, and applied at its end as
 * one change that can be undone as one.
 */
import { statSync } from 'node:fs'
import type { Caller } from '../../schema/caller.ts'
import type { MemoryType } from '../../schema/memory.ts'
import type { Clock } from '../platform/clock.ts'
import { message } from '../platform/files.ts'
import type { Applying, RunWrite } from './applying.ts'
import type { Catalogue } from './catalogue.ts'
import { inFolder, readPresent } from './folder.ts'
import { splitFrontMatter } from './front-matter-edit.ts'
import type { Along, Gate } from './gate.ts'
import type { Places } from './place.ts'
import { newRunId } from './run-id.ts'
import { manifest } from './scan.ts'
import { parseTopic, updateTopic } from './topic-file.ts'
import type { By } from './write.ts'

export type ChangeRun = {
  runId: string
  /** One line for each memory there is. */
  manifest: string
  /** What a file holds now; nothing where there is none. */
  textOf(file: string): string
  hashOf(file: string): string | undefined
  /** Why it would be refused, if it would. */
  refuses(write: RunWrite): Promise<string | undefined>
  apply(
    writes: readonly RunWrite[],
    at: { along: (files: string[]) => Along; mayWrite: () => boolean },
  ): Promise<{ saved: string[]; waiting: number; refused: number } | 'lost'>
}

export type Changing = {
  begin(run: { kind: 'extract'; cwd: string; env: Caller['env'] }): ChangeRun
}

type Deps = { places: Places; gate: Gate; applying: Applying; catalogue: Catalogue; clock: Clock }

export function createChanging({ places, gate, applying, catalogue, clock }: Deps): Changing {
  return {
    begin: ({ kind, cwd, env }) => {
      const runId = newRunId(kind, clock.now())
      const by: By = { actor: `agent:${runId}`, reason: `found by a run (${kind})`, runId }
      const { dir } = places.forWriting(cwd, { actor: by.actor, env })
      const present = (file: string) =>
        statSync(dir, { throwIfNoEntry: false }) && inFolder(dir, (folder) => readPresent(folder, file))
      return {
        runId,
        manifest: statSync(dir, { throwIfNoEntry: false }) ? manifest(catalogue.list(dir).items) : '',
        textOf: (file) => present(file)?.text ?? '',
        hashOf: (file) => present(file)?.hash,
        refuses: (write) =>
          gate.check(dir, write, by).then(
            () => undefined,
            (error) => message(error),
          ),
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

/** What decides what may become of a text that a model wrote. */
export function topicFacts(text: string): { type: MemoryType | undefined; untrusted: boolean } {
  const { type, trust } = parseTopic(text)
  return { type, untrusted: trust === 'untrusted' }
}

export function markUntrusted(text: string): string {
  return updateTopic(text, { trust: 'untrusted' })
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
