import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readYaml } from '../../daemon/platform/front-matter.ts'
import { readPlainYaml } from '../../daemon/platform/plain-yaml.ts'

describe('plain front matter', () => {
  it('is read as its words', () => {
    expect(readPlainYaml('name: Über die Tests\ndescription: Run "all" of them, twice  \ntype: feedback\n')).toEqual({
      name: 'Über die Tests',
      description: 'Run "all" of them, twice',
      type: 'feedback',
    })
  })

  it.each([
    'name: "quoted"',
    'name: 12',
    'name: true',
    'name: Null',
    'name: a: b',
    'name: a #b',
    'name: - a',
    'name:',
    'name: |',
    'name: a\n  goes on',
    'name: a\nname: b',
    '__proto__: a',
    'true: a',
    'metadata:\n  type: user',
    '- a',
    'name: a:',
    'name:\ta',
    '---',
  ])('is left to the library when it may mean something else: %j', (yaml) => {
    expect(readPlainYaml(`${yaml}\n`)).toBeUndefined()
  })

  it('means the same to the library, whatever it is', () => {
    const pieces = [
      ':',
      '#',
      ' ',
      '-',
      '&',
      '*',
      '!',
      '|',
      '>',
      '%',
      '@',
      '`',
      '"',
      "'",
      '{',
      '}',
      '[',
      ']',
      ',',
      '?',
      '~',
      '\\',
      '.',
      '\t',
    ]
    const text = fc
      .array(
        fc.oneof(
          fc.constantFrom('word', 'no', 'null', 'Yes', 'é', '中', '1e3', '\u00a0', '\u0085', ...pieces),
          fc.string({ unit: 'grapheme', maxLength: 3 }),
        ),
        { maxLength: 6 },
      )
      .map((parts) => parts.join(''))
    const line = fc
      .tuple(
        fc.constantFrom('name', 'type', 'a-b', 'True', 'y', 'on', '_x', '__proto__', 'k1'),
        fc.constantFrom(' ', '  ', '', '\t'),
        text,
      )
      .map(([key, space, value]) => `${key}:${space}${value}`)
    let plain = 0
    fc.assert(
      fc.property(fc.array(fc.oneof({ weight: 9, arbitrary: line }, text), { minLength: 1, maxLength: 4 }), (lines) => {
        const yaml = `${lines.join('\n')}\n`
        const short = readPlainYaml(yaml)
        if (short === undefined) return
        plain += 1
        expect(readYaml(yaml)).toEqual(short)
      }),
      { numRuns: 5_000 },
    )
    expect(plain).toBeGreaterThan(80)
  })
})
