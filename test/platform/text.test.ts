import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { safeId } from '../../daemon/platform/text.ts'

describe('an id of others', () => {
  it.each(['a', '0f3b-11', 'A.b_c-D', '.hidden', 'x'.repeat(128)])('that can be a name stays as it is: %s', (id) => {
    expect(safeId(id)).toBe(id)
  })

  it.each(['', '.', '..', '.....', 'a/b', '../x', 'a b', 'a\n', 'é', 'a\0', 'x'.repeat(129)])(
    'that cannot is replaced by its hash: %j',
    (id) => {
      expect(safeId(id)).toBe(createHash('sha256').update(id).digest('hex'))
    },
  )
})
