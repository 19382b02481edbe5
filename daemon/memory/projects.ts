/** Which projects have memories, and which of them share a directory. Pure. */
import type { Status } from '../../schema/status.ts'
import type { Directory } from './directories.ts'

/** `exists`: a project that is gone shares nothing with anybody. What lies within its root is a sub-agent's. */
export function projectsOf(known: readonly Directory[], exists: (path: string) => boolean): Status['projects'] {
  const projects = known.filter(({ dir, root }) => dir !== root && !dir.startsWith(`${root}/`))
  return projects.map(({ dir, root }) => {
    const others = projects.filter((other) => other.dir === dir && other.root !== root && exists(other.root))
    const sharedWith = others.map((other) => other.root)
    return { root, memoryDir: dir, ...(sharedWith.length > 0 && { sharedWith }) }
  })
}
