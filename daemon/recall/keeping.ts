/** Memories, put together: where they are, who may keep them, and how they are found again, for hooks as well. */
import type { RecallAnswer } from '../../schema/recall.ts'
import type { Environment, Places } from '../../schema/rendezvous.ts'
import type { Core } from '../core.ts'
import type { Databases } from '../db/databases.ts'
import type { HookDeps, Recalled } from '../hooks/hooks.ts'
import { createMemory } from '../memory/memory.ts'
import type { Model } from '../models/model.ts'
import type { Clock } from '../platform/clock.ts'
import { message } from '../platform/files.ts'
import { undoOf } from '../platform/if-lost.ts'
import type { Lifecycle } from '../platform/lifecycle.ts'
import { madeOnce } from '../platform/made-once.ts'
import { createVigils } from '../platform/vigil.ts'
import { agentDirOf, isAgentDir, isAgentPlace, isMemoryPlace, mergeVariables } from '../projects/memory-dir.ts'
import { createLocator, createPauses, createSwitches } from '../projects/projects.ts'
import type { LiveSettings } from '../settings/live-settings.ts'
import { createRecalledRows } from './given.ts'
import { createRecall } from './recall.ts'

type Deps = Pick<Core, 'events' | 'health' | 'disk' | 'logged'> & {
  core: Core
  places: Places
  stateDir: string
  env: Environment
  settings: LiveSettings
  clock: Clock
  store: Databases
  parts: Lifecycle
  redact: (text: string) => Promise<{ text: string; kinds: string[] }>
  rootOf: (cwd: string) => string
  /** Notes may hold what is purged. */
  emptyNotes: () => void
  driftOf: Parameters<typeof createRecall>[0]['driftOf']
  /** Made after the memories that it is asked about. */
  model: () => Pick<Model, 'waits' | 'provider'>
}

/** Of a prompt, to find memories by. */
const LONGEST_PROMPT = 100_000

export function createKeeping(deps: Deps) {
  const { places, env, settings, clock, store, parts, redact, rootOf, driftOf, model } = deps
  const { events, health, disk, logged } = deps
  const locator = createLocator({ env, home: places.home, clock })
  const switches = createSwitches({
    pauses: createPauses(store.history),
    clock,
    rootOf,
    privatePaths: () => settings.current().private,
    onChange: () => {
      health.announce('paused')
    },
  })
  const vigils = createVigils({ clock })
  parts.add('vigils', vigils.stop)
  const memory = createMemory(deps.core, {
    keepers: [deps.emptyNotes, (purged) => recall.forget(purged)],
    locate: locator.locate,
    placeOf: locator.placeOf,
    offBecause: switches.because,
    agentDir: (root, callerEnv, agent) =>
      agentDirOf({ root, home: places.home, variables: mergeVariables(env, callerEnv), ...agent }),
    isPlace: (dir) => (isAgentDir(dir) ? isAgentPlace(dir) : isMemoryPlace(dir, places.home)),
    guidelines: (caller) => mergeVariables(env, caller.env).CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES,
    onChange: (dir, files, actor) => {
      recall.changed(dir, files)
      events.publish({ type: 'saved', dir, files, actor })
    },
    onError: logged('a memory directory could not be looked through'),
    onDiskTrouble: (error) => disk.failed(message(error)),
  })
  parts.add('memory', memory.stop)
  const recall = createRecall({
    texts: memory.texts,
    rows: createRecalledRows(store.history),
    vigils,
    redact,
    find: memory.findAgain,
    driftOf,
    model: {
      isReady: () => model().waits() === undefined,
      provider: (project) => model().provider({ job: 'recall', project }),
    },
    settings: madeOnce(settings.current, ({ recall, model, team }) => ({
      ...recall,
      model: model.select,
      teamEnabled: team.enabled,
    })),
    clock,
    onError: logged('recall failed beside an answer'),
  })
  parts.add('recall', recall.stop)
  const forHooks: Pick<HookDeps, 'recall' | 'recallAgain' | 'readAhead'> = {
    recall: async ({ mostBytes, query, ...asked }, caller) => {
      const request = { ...asked, query: query.slice(0, LONGEST_PROMPT), mode: 'auto' as const }
      return recalledOf(await recall.hook(request, caller, mostBytes))
    },
    recallAgain: async ({ mostBytes, ...session }, caller) =>
      recalledOf(await recall.again(session, caller, mostBytes)),
    readAhead: recall.readAhead,
  }
  return { switches, memory, recall, forHooks }
}

function recalledOf(answer: RecallAnswer): Recalled {
  return { text: answer.text, undo: undoOf(answer) }
}
