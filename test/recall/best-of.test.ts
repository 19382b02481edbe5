import { describe, expect, it } from 'vitest'
import { bestOf } from '../../daemon/recall/best-of.ts'

function best(of: Record<string, number>, most: number, skip?: (file: string) => boolean) {
  const files = Object.keys(of)
  const into = new Int32Array(most)
  const kept = bestOf(
    {
      ids: Int32Array.from(files, (_, id) => id),
      count: files.length,
      sums: Float64Array.from(Object.values(of)),
      doc: (id) => ({ file: files[id] as string }),
    },
    { most, into, skip },
  )
  return [...into.subarray(0, kept)].map((id) => files[id]).sort()
}

describe('the best of many', () => {
  it('are those with the most', () => {
    expect(best({ a: 1, b: 5, c: 3, d: 4, e: 2 }, 3)).toEqual(['b', 'c', 'd'])
    expect(best({ a: 1, b: 5 }, 3)).toEqual(['a', 'b'])
  })

  it('are, of equal ones, the first by name', () => {
    expect(best({ d: 1, b: 1, e: 2, c: 1, a: 1 }, 3)).toEqual(['a', 'b', 'e'])
    expect(best({ a: 1, c: 1, e: 2, b: 1, d: 1 }, 3)).toEqual(['a', 'b', 'e'])
  })

  it('are none that is to be skipped', () => {
    expect(best({ d: 1, b: 1, e: 2, c: 1, a: 1 }, 3, (file) => file === 'a')).toEqual(['b', 'c', 'e'])
  })
})
