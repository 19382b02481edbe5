import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { slugOf } from '../../daemon/projects/slug.ts'

const long = `/${'a'.repeat(199)}`

describe('slugs', () => {
  it.each([
    ['/a/with space', '-a-with-space'],
    ['.hidden', '-hidden'],
    ['/', '-'],
    ['/home/dev/proj/demo/.claude/worktrees/probe-wt', '-home-dev-proj-demo--claude-worktrees-probe-wt'],
    ['/a_b.c~1', '-a-b-c-1'],
    // One unit, one dash: an emoji is two units, a decomposed é is a letter and one more.
    ['/😀', '---'],
    ['/caf\u00e9', '-caf-'],
    ['/cafe\u0301', '-cafe-'],
    [long, `-${'a'.repeat(199)}`],
  ])('spell %j as the client does', (path, slug) => {
    expect(slugOf(path)).toBe(slug)
  })

  it('cut a longer path and add the hash of the whole', () => {
    expect(slugOf(`${long}b`)).toBe(`-${'a'.repeat(199)}-${Math.abs(naiveHash(`${long}b`)).toString(36)}`)
    expect(slugOf(`${long}.`)).not.toBe(slugOf(`${long}_`))
  })

  it('are safe folder names of bounded length, the same each time', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(0xffff), { maxLength: 400 }), (units) => {
        const path = String.fromCharCode(...units)
        const slug = slugOf(path)
        const hash = naiveHash(path)
        expect(slug).toMatch(/^[A-Za-z0-9-]*$/)
        expect(slug.slice(200)).toBe(path.length > 200 ? `-${(hash < 0 ? -hash : hash).toString(36)}` : '')
        expect(slug.slice(0, 200)).toHaveLength(Math.min(path.length, 200))
      }),
    )
  })
})

/** The rule as it is written down, in whole numbers without a limit. */
function naiveHash(path: string): number {
  let hash = 0n
  for (let unit = 0; unit < path.length; unit++) hash = BigInt.asIntN(32, hash * 31n + BigInt(path.charCodeAt(unit)))
  return Number(hash)
}
