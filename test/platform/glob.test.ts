import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileGlob, splitList } from '../../daemon/platform/glob.ts'

describe('globs', () => {
  it.each([
    ['*.md', ['a.md', '.md', '.a.md'], ['a/b.md', 'a.mdx', 'md']],
    ['**/*.ts', ['a.ts', 'a/b.ts', 'a/b/.c.ts'], ['a.tsx', 'a.ts/b']],
    ['src/**', ['src/a', 'src/a/b'], ['src', 'srcs/a', 'a/src/b']],
    ['src/**/*', ['src/a', 'src/a/b'], ['src']],
    ['a/**/b', ['a/b', 'a/x/b', 'a/x/y/b'], ['ab', 'a/xb', 'a/b/c']],
    ['**', ['a', 'a/b'], []],
    ['**/a/**/b', ['a/b', 'x/a/y/b', 'a/a/b/b'], ['x/b']],
    ['a**b', ['ab', 'axxb'], ['a/b']],
    ['?.ts', ['a.ts', '😀.ts'], ['ab.ts', '.ts', '/.ts']],
    ['*.{ts,tsx}', ['a.ts', 'a.tsx'], ['a.js', 'a.']],
    ['{src,lib}/**/*.{a,b}', ['src/x.a', 'lib/y/x.b'], ['test/x.a', 'src/x.c']],
    ['a{,b,{c,d}}e', ['ae', 'abe', 'ace', 'ade'], ['acde', 'a{,b}e']],
    ['{**/x,y}/z', ['a/b/x/z', 'x/z', 'y/z'], ['a/y/z']],
    ['app/[id]/page.tsx', ['app/[id]/page.tsx'], ['app/i/page.tsx']],
    ['{a}', ['{a}'], ['a']],
    ['{a,b', ['{a,b'], ['a']],
    ['a},b', ['a},b'], []],
    ['\\*\\{a,b\\}', ['*{a,b}'], ['x{a,b}', '*a']],
    ['a\\', ['a\\'], ['a']],
    ['übung/*', ['u\u0308bung/x'], ['ubung/x']],
    ['', [''], ['a']],
  ])('%s', (glob, matching, others) => {
    const matches = compileGlob(glob)
    expect(matching.filter((path) => !matches(path))).toEqual([])
    expect(others.filter(matches)).toEqual([])
  })

  it('match what the equal regular expression matches', () => {
    const part = fc.constantFrom('a', 'b', '/', '*', '?', '**/', '{a,b}', '{a/,}', '{b*,a}')
    const path = fc.stringMatching(/^[ab/]{0,8}$/)
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), path, (parts, text) => {
        const glob = parts.join('')
        // Two stars mean more than one only as a whole name: the table above holds the rest.
        fc.pre(!/\*\*(?!\/)|[^/]\*\*\//.test(glob))
        const expected = glob.replace(/\*\*\/|[*?{},]/g, (token) => {
          const tokens: Record<string, string> = { '**/': '(?:.*/)?', '*': '[^/]*', '?': '[^/]', '{': '(?:', '}': ')' }
          return tokens[token] ?? '|'
        })
        expect([glob, text, compileGlob(glob)(text)]).toEqual([glob, text, new RegExp(`^(?:${expected})$`).test(text)])
      }),
      { numRuns: 2000 },
    )
  })

  it('take no time that grows with more than pattern times path', () => {
    const path = 'a'.repeat(1000)
    const nested = '{a,'.repeat(300) + '}'.repeat(300)
    for (const glob of [
      '*a'.repeat(500),
      `${'{a,aa}'.repeat(150)}b`,
      `${'**/'.repeat(300)}b`,
      nested,
      '{'.repeat(1000),
    ])
      expect([glob, compileGlob(glob)(`${path}/${path}c`)]).toEqual([glob, false])
  })
})

describe('lists of globs', () => {
  it('are split at commas outside braces', () => {
    expect(splitList('a,{b,{c,d}}/e, f')).toEqual(['a', '{b,{c,d}}/e', ' f'])
    expect(splitList('a},b')).toEqual(['a}', 'b'])
    expect(splitList('')).toEqual([''])
  })
})
