/** Memories, put together: where they are, and what else keeps them. */
import type { Core } from '../core.ts'
import type { Keeper } from '../db/purge.ts'
import { createMemory } from '../memory/memory.ts'
import { message } from '../platform/files.ts'
import { findProjectRoot } from '../projects/git.ts'
import { agentDirOf, isAgentDir, isAgentPlace, isMemoryPlace, mergeVariables } from '../projects/memory-dir.ts'
import { createLocator, createPauses, createSwitches } from '../projects/projects.ts'

export function createKeeping(core: Core, keepers: readonly Keeper[]) {
  const { places, env, settings, clock, db, events, health, disk, logged, lifecycle } = core
  const locator = createLocator({ env, home: places.home, clock })
  const switches = createSwitches({
    pauses: createPauses(db.history),
    clock,
    rootOf: (cwd) => findProjectRoot(cwd).root,
    privatePaths: () => settings.current().private,
    onChange: () => health.announce('paused'),
  })
  const memory = createMemory(core, {
    keepers,
    locate: locator.locate,
    placeOf: locator.placeOf,
    offBecause: switches.because,
    agentDir: (root, callerEnv, agent) =>
      agentDirOf({ root, home: places.home, variables: mergeVariables(env, callerEnv), ...agent }),
    isPlace: (dir) => (isAgentDir(dir) ? isAgentPlace(dir) : isMemoryPlace(dir, places.home)),
    guidelines: (caller) => mergeVariables(env, caller.env).CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES,
    onChange: (dir, files, actor) => events.publish({ type: 'saved', dir, files, actor }),
    onError: logged('a memory directory could not be looked through'),
    onDiskTrouble: (error) => disk.failed(message(error)),
  })
  lifecycle.add('memory', memory.stop)
  return { switches, memory }
}
