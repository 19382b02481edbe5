/** The whole of memory on a real store and a real directory, without a process around it. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createMemory } from '../../daemon/memory/memory.ts'
import { printTopic } from '../../daemon/memory/topic-file.ts'
import { redactSecrets } from '../../daemon/secrets/redact.ts'
import { openStore } from '../../daemon/store/store.ts'
import { type ManualTime, manualTime } from './clock.ts'
import { makeHome } from './home.ts'

export type Rig = ReturnType<typeof memoryRig>

export const person = { actor: 'user', env: {} }
export const agent = { actor: 'agent:api', env: {} }

export function topic(body: string, name = 'A thing'): string {
  return printTopic({ name, description: `What is known of ${name}`, type: 'project', body })
}

/** `open` gives a fresh one over the same files, as a restart would. */
export function memoryRig({ review = 'auto', team = false }: { review?: 'auto' | 'required'; team?: boolean } = {}) {
  const { dir: home } = makeHome()
  const time: ManualTime = manualTime()
  const cwd = join(home, 'project')
  mkdirSync(cwd)
  const state = join(home, 'state')
  const dirOf = (folder: string) => join(home, 'memories', folder.replaceAll('/', '-'))
  const errors: unknown[] = []
  const open = () => {
    const store = openStore(state, time.clock.now())
    const memory = createMemory({
      db: store.history,
      stateDir: state,
      clock: time.clock,
      redact: redactSecrets,
      locate: (folder) => ({ root: folder, dir: dirOf(folder), memory: { on: true } }),
      placeOf: (root) => ({ dir: dirOf(root) }),
      pausedBecause: () => undefined,
      isPlace: () => true,
      settings: { reviewRequired: () => review === 'required', teamEnabled: () => team },
      onChange: () => {},
      onError: (error) => errors.push(error),
    })
    onTestFinished(() => store.close())
    return { memory, store }
  }
  const first = open()
  return { ...first, open, home, state, cwd, dir: dirOf(cwd), time, errors }
}
