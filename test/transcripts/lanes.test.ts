import { describe, expect, it } from 'vitest'
import { createLanes, type Due, type Lane } from '../../daemon/transcripts/lanes.ts'

const due = (path: string, lane: Lane): Due => ({ harness: 'generic', root: '/r', path, lane })

function order(...all: Due[]): string[] {
  const lanes = createLanes()
  for (const one of all) lanes.add(one)
  const paths = []
  for (let next = lanes.next(); next; next = lanes.next()) paths.push(next.path)
  return paths
}

describe('whose turn it is', () => {
  it('changes between what grows now and what was left to read', () => {
    const left = ['a', 'b', 'c'].map((path) => due(path, 'backlog'))
    expect(order(...left, due('x', 'live'), due('y', 'live'))).toEqual(['x', 'a', 'y', 'b', 'c'])
  })

  it('goes round among those that have more', () => {
    const lanes = createLanes()
    for (const path of ['a', 'b']) lanes.add(due(path, 'live'))
    const paths = []
    for (let n = 0; n < 4; n++) {
      const next = lanes.next() as Due
      paths.push(next.path)
      lanes.add(next)
    }
    expect(paths).toEqual(['a', 'b', 'a', 'b'])
  })

  it('comes once for each file, and sooner when it grows', () => {
    expect(order(due('a', 'backlog'), due('b', 'backlog'), due('b', 'live'), due('b', 'backlog'))).toEqual(['b', 'a'])
  })
})
