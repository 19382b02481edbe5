/** Whose turn it is to be read: what grows now and what was left to read take turns, and within each the one that waits longest. */
import type { Source } from './formats/formats.ts'

export type Lane = 'live' | 'backlog'
export type Due = Source & { lane: Lane }

export type Lanes = {
  /** Once in the queue, whatever is said of it; news of it lets it change lanes. */
  add(due: Due): void
  next(): Due | undefined
  size(): number
}

export function createLanes(): Lanes {
  const lanes: Record<Lane, Map<string, Due>> = { live: new Map(), backlog: new Map() }
  let last: Lane = 'backlog'
  const take = (lane: Lane): Due | undefined => {
    for (const [path, due] of lanes[lane]) {
      lanes[lane].delete(path)
      last = lane
      return due
    }
    return undefined
  }
  return {
    add: (due) => {
      if (lanes.live.has(due.path)) return
      if (due.lane === 'live') lanes.backlog.delete(due.path)
      if (!lanes[due.lane].has(due.path)) lanes[due.lane].set(due.path, due)
    },
    next: () => (last === 'backlog' ? (take('live') ?? take('backlog')) : (take('backlog') ?? take('live'))),
    size: () => lanes.live.size + lanes.backlog.size,
  }
}
