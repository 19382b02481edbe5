/** Memories, put together: where they are, and what else keeps them. */
import type { Core } from '../core.ts'
import { createMemory } from '../memory/memory.ts'
import { message } from '../platform/files.ts'
import type { Projects } from '../projects/projects.ts'

export function createKeeping(core: Core, projects: Projects) {
  const { events, disk, logged, lifecycle } = core
  const memory = createMemory(core, projects, {
    onChange: (dir, files, actor) => events.publish({ type: 'saved', dir, files, actor }),
    onError: logged('a memory directory could not be looked through'),
    onDiskTrouble: (error) => disk.failed(message(error)),
  })
  lifecycle.add('memory', memory.stop)
  return { memory }
}
