/** Recall over a real core, a real project and its memories. What a model answers is up to the test. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createMemory } from '../../daemon/memory/memory.ts'
import type { Models } from '../../daemon/models/models.ts'
import type { ModelAnswer, ModelRequest } from '../../daemon/models/wire.ts'
import { createProjects } from '../../daemon/projects/projects.ts'
import { createRecall } from '../../daemon/recall/recall.ts'
import { RecallRequest } from '../../schema/recall.ts'
import { testCore } from '../support/core.ts'
import { topic } from '../support/memory.ts'

export const caller = { actor: 'agent:hook', env: {} }

type Selects = (request: ModelRequest, signal: AbortSignal) => Promise<string[]>

const answered: Omit<ModelAnswer, 'output'> = {
  content: [],
  stop: 'end_turn',
  usage: { input: 1, cacheRead: 0, cacheWrite: 0, output: 1 },
  requestId: undefined,
}

/** A model that only selects. Without `selects` there is none. */
const modelThat = (selects?: Selects) =>
  ({
    waits: () => (selects ? undefined : { postponed: 'offline' }),
    provider: () => ({
      call: async (request: ModelRequest, { signal }: { signal: AbortSignal }) => ({
        ...answered,
        output: { selected_memories: (await selects?.(request, signal)) ?? [] },
      }),
    }),
  }) as unknown as Models

/** Of the daemon after a restart, with `over` from the one before. */
export async function recallRig(selects?: Selects, over: Parameters<typeof testCore>[0] = {}) {
  const { core, home, time } = await testCore({ settings: { team: { enabled: false } }, ...over })
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd, { recursive: true })
  const projects = createProjects(core)
  const memory = createMemory(core, projects)
  core.lifecycle.add('memory', memory)
  const { dir } = projects.find(cwd, caller)
  mkdirSync(dir, { recursive: true })
  const counts = { read: 0 }
  memory.catalogue.onRead(() => {
    counts.read++
  })
  const recall = createRecall(core, projects, memory, modelThat(selects))
  core.lifecycle.add('recall', recall)
  const hook = (query: string, { sessionId = 's', mostBytes = 100_000 } = {}) =>
    recall.hook({ cwd, query, sessionId, harness: 'generic', mostBytes }, caller)
  const ask = (query: string, more: object = {}) =>
    recall.recall(RecallRequest.parse({ cwd, query, sessionId: 's', ...more }), {
      caller,
      signal: new AbortController().signal,
    })
  const put = (file: string, body: string, name = file.replace('.md', '')) => {
    mkdirSync(join(dir, dirname(file)), { recursive: true })
    writeFileSync(join(dir, file), topic(body, name))
  }
  return { core, home, time, cwd, dir, memory, recall, hook, ask, put, counts, pause: () => projects.pause(cwd) }
}

/** The same with three memories. */
export async function threeMemories(selects?: Selects) {
  const rig = await recallRig(selects)
  for (const name of ['auth', 'release', 'owls']) rig.put(`${name}.md`, `All of ${name}.`)
  return rig
}
