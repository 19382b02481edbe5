/** The whole of memory on a real store and a real directory, without a process around it. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type Databases, openDatabases } from '../../daemon/db/databases.ts'
import { createMemory } from '../../daemon/memory/memory.ts'
import { printTopic } from '../../daemon/memory/topic-file.ts'
import { createEvents } from '../../daemon/platform/events.ts'
import { createHealth } from '../../daemon/platform/health.ts'
import type { Watch } from '../../daemon/platform/path-wait.ts'
import { redact } from '../../daemon/secrets/redact.ts'
import { type ManualTime, manualTime } from './clock.ts'
import { makeHome } from './home.ts'

export type Rig = ReturnType<typeof memoryRig>

export const person = { actor: 'user', env: {} }
export const agent = { actor: 'agent:api', env: {} }

export function topic(body: string, name = 'A thing'): string {
  return printTopic({ name, description: `What is known of ${name}`, type: 'project', body })
}

type Saved = { dir: string; files: string[]; actor: string }

type RigOptions = {
  review?: 'auto' | 'required'
  team?: boolean
  watch?: Watch
  isPlace?: (dir: string) => boolean
  keepers?: Parameters<typeof createMemory>[0]['keepers']
}

/** `open` gives a fresh one over the same files, as a restart would; `openOver` one over a store with a fault. */
export function memoryRig({
  review = 'auto',
  team = false,
  watch,
  isPlace = () => true,
  keepers = [],
}: RigOptions = {}) {
  const { dir: home } = makeHome()
  const time: ManualTime = manualTime()
  const cwd = join(home, 'project')
  mkdirSync(cwd)
  const state = join(home, 'state')
  const dirOf = (folder: string) => join(home, 'memories', folder.replaceAll('/', '-'))
  const errors: unknown[] = []
  const saved: Saved[] = []
  const health = createHealth(time.clock, createEvents(time.clock))
  const openOver = (store: Databases) => {
    const memory = createMemory({
      store,
      keepers,
      stateDir: state,
      clock: time.clock,
      redact,
      locate: (folder, env) => ({
        root: folder,
        dir: dirOf(folder),
        memory: env.CLAUDE_CODE_DISABLE_AUTO_MEMORY === '1' ? { on: false, because: 'switched off' } : { on: true },
        madeFrom: [folder],
      }),
      placeOf: (root) => ({ dir: dirOf(root) }),
      offBecause: () => undefined,
      agentDir: (root, _caller, { type, scope }) => join(root, scope, type),
      isPlace,
      settings: { reviewRequired: () => review === 'required', teamEnabled: () => team, logsEnabled: () => false },
      guidelines: (caller) => caller.env.CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES,
      health,
      ...(watch && { watch }),
      onChange: (dir, files, actor) => saved.push({ dir, files, actor }),
      onError: (error) => errors.push(error),
      onDiskTrouble: (error) => errors.push(error),
    })
    return { memory, store }
  }
  const open = () => {
    const store = openDatabases(state, time.clock.now())
    onTestFinished(() => store.close())
    return openOver(store)
  }
  const first = open()
  return { ...first, open, openOver, home, state, cwd, dir: dirOf(cwd), time, errors, saved, health }
}
