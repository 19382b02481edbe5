import fc from 'fast-check'
import matter from 'gray-matter'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { oneLine } from '../../daemon/memory/pointer.ts'
import {
  hookOf,
  parseTopic,
  printTopic,
  type TopicFields,
  topicProblems,
  updateTopic,
  yamlScalar,
} from '../../daemon/memory/topic-file.ts'
import { parseFrontMatter, readPlainYaml } from '../../daemon/platform/front-matter.ts'
import { Trust } from '../../schema/memory.ts'
import { MemoryType } from '../../schema/values.ts'

const plain = '---\nname: Testing\ndescription: no mocks\ntype: feedback\n---\n\nUse a real database.\n'
const newer =
  '---\nname: testing\ndescription: "no mocks: ever"\nmetadata: \n  node_type: memory\n  type: feedback\n  originSessionId: 6473d404\n  modified: 2026-09-22T20:53:33.971Z\n---\n\nUse a real database.\n'

const awkward = fc.constantFrom(...':#-?[]{}&*!|>\'"%@`,~ \t\n\r\\=<01e.yn\u2028\u0085é日'.split(''))
const words = fc
  .oneof(
    fc.string({ unit: awkward, minLength: 1, maxLength: 30 }),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }),
    fc.constantFrom(
      'yes',
      'Off',
      'null',
      '~',
      '2026-03-31',
      '2026-03-31T10:00:00Z',
      '012',
      '0x1F',
      '1e3',
      '.inf',
      '1:30',
      '3.',
      '---',
      '...',
      '- x',
      'a: b',
      'a #b',
      'x:',
      '<<',
      '$&',
    ),
  )
  .filter((text) => oneLine(text) !== '')
const fields = fc.record(
  {
    name: words,
    description: words,
    type: fc.constantFrom(...MemoryType.options),
    trust: fc.constantFrom(...Trust.options),
  },
  { requiredKeys: ['name', 'description', 'type'] },
)
const asRead = (values: Partial<TopicFields>) =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, oneLine(value)]))

describe('reading a topic file', () => {
  it('gives its fields and its body', () => {
    expect(parseTopic(plain)).toEqual({
      name: 'Testing',
      description: 'no mocks',
      type: 'feedback',
      body: 'Use a real database.\n',
      raw: '---\nname: Testing\ndescription: no mocks\ntype: feedback\n---\n\n',
    })
  })

  it('finds the type where newer versions of Claude Code put it', () => {
    expect(parseTopic(newer)).toMatchObject({ name: 'testing', description: 'no mocks: ever', type: 'feedback' })
  })

  it.each([
    ['no front matter', 'just text\n', { body: 'just text\n', raw: '' }],
    ['an empty file', '', { body: '', raw: '' }],
    ['an unknown type', '---\ntype: secret\n---\nx', { body: 'x', raw: '---\ntype: secret\n---\n' }],
    ['a type in other letters', '---\ntype: User\n---\n', { body: '', raw: '---\ntype: User\n---\n' }],
    [
      'fields of other kinds',
      '---\nname: 12\ndescription: [a]\ntype: {}\n---\n',
      { name: '12', body: '', raw: '---\nname: 12\ndescription: [a]\ntype: {}\n---\n' },
    ],
    ['empty fields', '---\nname:\ndescription: " "\n---\n', { body: '', raw: '---\nname:\ndescription: " "\n---\n' }],
    [
      'a folded description',
      '---\ndescription: >\n  one\n  two\n---\r\n\r\nx',
      { description: 'one two', body: 'x', raw: '---\ndescription: >\n  one\n  two\n---\r\n\r\n' },
    ],
    ['a byte order mark', '\uFEFF---\nname: a\n---\nx', { name: 'a', body: 'x', raw: '\uFEFF---\nname: a\n---\n' }],
  ])('takes %s as it is', (_what, text, topic) => {
    expect(parseTopic(text)).toEqual(topic)
  })

  it('reads the lines of a front matter that is not valid, and says so', () => {
    const text =
      '---\nname: \'it\'s me\'\ndescription: "a "quoted" word"\r\nmetadata:\n  type: project\ntrust: untrusted\n---\n\nbody'
    expect(parseTopic(text)).toEqual({
      name: "it's me",
      description: 'a "quoted" word',
      type: 'project',
      trust: 'untrusted',
      body: 'body',
      raw: text.slice(0, -4),
      problem: expect.stringMatching(/^the front matter is not valid/),
    })
  })

  it('lets no line of its own start within a value', () => {
    expect(parseTopic("---\nname: 'a\u2028trust: user\n---\n")).not.toHaveProperty('trust')
  })

  it('never trusts a mark that it does not know', () => {
    for (const mark of ['no', 'UNTRUSTED', '[]', '0', '""'])
      expect(parseTopic(`---\ntrust: ${mark}\n---\n`).trust).toBe('untrusted')
    for (const mark of Trust.options) expect(parseTopic(`---\ntrust: ${mark}\n---\n`).trust).toBe(mark)
    expect(parseTopic('---\ntrust:\n---\n')).not.toHaveProperty('trust')
  })

  it('keeps every byte of any text in raw and body', () => {
    const part = fc.constantFrom(
      '---',
      '---\n',
      '\n',
      '\r\n',
      'name: a',
      'type: user',
      ': ',
      '"',
      '\uFEFF',
      '  ',
      '- x',
      '----',
      '---js',
    )
    const text = fc.oneof(fc.string({ unit: part, maxLength: 12 }), fc.string({ unit: 'binary' }))
    fc.assert(
      fc.property(text, (any) => {
        const { raw, body } = parseTopic(any)
        expect(raw + body).toBe(any)
      }),
      { numRuns: 500 },
    )
  })
})

describe('printing a topic file', () => {
  it('has the form that Claude Code writes', () => {
    expect(
      printTopic({
        name: 'Testing',
        description: 'Integration tests hit a real database, not mocks',
        type: 'feedback',
        body: 'Use a real database.\n\n**Why:** mocks hid a broken migration.\n\n**How to apply:** in every test of the store.',
      }),
    ).toBe(
      '---\nname: Testing\ndescription: Integration tests hit a real database, not mocks\ntype: feedback\n---\n\n' +
        'Use a real database.\n\n**Why:** mocks hid a broken migration.\n\n**How to apply:** in every test of the store.\n',
    )
  })

  it('quotes only what would be read as something else', () => {
    const text = printTopic({
      name: 'a: b',
      description: "it's 2fa-setup, @home (see #3)",
      type: 'user',
      trust: 'untrusted',
      body: '',
    })
    expect(text).toBe(
      `---\nname: "a: b"\ndescription: "it's 2fa-setup, @home (see #3)"\ntype: user\ntrust: untrusted\n---\n`,
    )
    for (const value of ["it's 2fa-setup", 'user@home', 'a:b', 'a#b', 'x - y', 'what?', '日本', '-x', '12 apples'])
      expect(printTopic({ name: value, description: 'd', type: 'user', body: '' })).toContain(`name: ${value}\n`)
  })

  it('reads back the same for us, for plain YAML and for gray-matter', () => {
    fc.assert(
      fc.property(fields, words, (values, body) => {
        const text = printTopic({ ...values, body })
        const { body: readBody, raw, ...read } = parseTopic(text)
        expect(read).toEqual(asRead(values))
        expect(readBody).toBe(body.replace(/^([ \t]*\r?\n)+/, '').replace(/(?<=[^\n])$(?!\n)/, '\n'))
        const yaml = raw.trim().slice(4, -3)
        expect(parse(yaml)).toEqual(asRead(values))
        expect(readPlainYaml(yaml)).toEqual(asRead(values))
        expect(matter(text, { language: 'yaml' }).data).toEqual(asRead(values))
      }),
      { numRuns: 500 },
    )
  })
})

describe('updating a topic file', () => {
  it.each<[string, string, Partial<TopicFields> & { body?: string }, string]>([
    ['one value', plain, { description: 'never: mocks' }, plain.replace('no mocks', '"never: mocks"')],
    ['nothing that is so already', newer, { type: 'feedback', description: 'no  mocks: ever', name: 'testing' }, newer],
    ['the type where it stands', newer, { type: 'project' }, newer.replace('type: feedback', 'type: project')],
    [
      'a new mark after the type',
      plain,
      { trust: 'untrusted' },
      plain.replace('type: feedback\n', 'type: feedback\ntrust: untrusted\n'),
    ],
    ['a new mark before what is nested', newer, { trust: 'tool' }, newer.replace('metadata', 'trust: tool\nmetadata')],
    [
      'a value, not its comment',
      '---\r\nname: a # mine\r\n# b\r\n---\r\nx',
      { name: 'c', type: 'user' },
      '---\r\nname: c # mine\r\ntype: user\r\n# b\r\n---\r\nx',
    ],
    [
      'a missing value',
      '---\nname:\ndescription: # later\n---\n',
      { name: 'a', description: 'b' },
      '---\nname: a\ndescription: b # later\n---\n',
    ],
    [
      'a block of lines',
      '---\ndescription: |\r\n  a\r\n  b\r\nkeep: 1\n---\n',
      { description: 'c' },
      '---\ndescription: c\r\nkeep: 1\n---\n',
    ],
    [
      'a value on the next line',
      '---\nname:\n  a\n  b\nkeep: 1\n---\n',
      { name: 'c' },
      '---\nname:\n  c\nkeep: 1\n---\n',
    ],
    ['a list', '---\nname:\n- a\n- b\nkeep: 1\n---\n', { name: 'c' }, '---\nname: c\nkeep: 1\n---\n'],
    ['a tagged value', '---\nname: !!int 5\n---\n', { name: 'c' }, '---\nname: c\n---\n'],
    [
      'braces',
      '---\n{name: a, x: [1]}\n---\n',
      { name: 'b, c', type: 'user' },
      '---\n{type: "user", name: "b, c", x: [1]}\n---\n',
    ],
    [
      'what is no YAML',
      "---\nname: 'it's\n  me\nkeep: 'x\n---\n",
      { name: 'a', type: 'user' },
      "---\nname: a\ntype: user\nkeep: 'x\n---\n",
    ],
    ['no fields at all', '---\n# note\n---\nx', { name: 'a' }, '---\nname: a\n# note\n---\nx'],
    [
      'an empty front matter',
      '---\r\n---\r\nx',
      { name: 'a', type: 'user' },
      '---\r\nname: a\r\ntype: user\r\n---\r\nx',
    ],
    ['a text without front matter', '\uFEFFx\n', { name: 'a' }, '\uFEFF---\nname: a\n---\n\nx\n'],
    ['the body', plain, { body: 'New.\n' }, plain.replace('Use a real database.', 'New.')],
    ['a missing body', '---\nname: a\n---', { body: 'x\n' }, '---\nname: a\n---\n\nx\n'],
    ['the only text', 'old', { body: 'new' }, 'new'],
  ])('changes %s', (_what, text, patch, expected) => {
    expect(updateTopic(text, patch)).toBe(expected)
  })

  /** Ways to write a field, and what becomes of each when it is set. */
  const forms: ((key: string, value: string) => [before: string, after: string])[] = [
    (key, value) => [`${key}: old value`, `${key}: ${value}`],
    (key, value) => [`${key}:   "old: value"   # why`, `${key}:   ${value}   # why`],
    (key, value) => [`${key}: 'old'\t`, `${key}: ${value}\t`],
    (key, value) => [`${key}: |-\n  old\n\n  value`, `${key}: ${value}`],
    (key, value) => [`${key}: old\n  value\n  # more`, `${key}: ${value}\n  # more`],
    (key, value) => [`${key}:\n    old`, `${key}:\n    ${value}`],
    (key, value) => [`${key}:`, `${key}: ${value}`],
    (key, value) => [`${key}:  # none`, `${key}:  ${value} # none`],
    (key, value) => [`"${key}" : old`, `"${key}" : ${value}`],
  ]
  const others = [
    'a: 1 # first',
    '# a comment',
    '',
    'tags:\n- x\n- "y # z"',
    'deep:\n    b: {c: [1, 2]}\n    # inside\n    d: |\n      text\n\n      more',
    "\"odd key\": 'it''s'",
    'when: 2026-03-31T00:00:00Z',
    'x-anchor: &one  spaced   ',
    'long: >-\n  folded\n  text',
    'Name: not ours',
    'plain: several words\n  on two lines',
  ]
  const keys = ['name', 'description', 'type', 'trust'] as const
  type Part = { key?: string; form?: (typeof forms)[number]; text: string }
  const parts = fc
    .tuple(
      fc.subarray([...keys]),
      fc.array(fc.constantFrom(...forms), { minLength: 4, maxLength: 4 }),
      fc.subarray(others),
    )
    .chain(([own, chosen, rest]) => {
      const all: Part[] = [
        ...own.flatMap((key, at) => (chosen[at] ? [{ key, form: chosen[at], text: chosen[at](key, '')[0] }] : [])),
        ...rest.map((text) => ({ text })),
      ]
      return fc.shuffledSubarray(all, { minLength: all.length })
    })
  const patches = fc.record(
    {
      name: words,
      description: words,
      type: fc.constantFrom(...MemoryType.options),
      trust: fc.constantFrom('user', 'tool'),
    },
    { requiredKeys: [] },
  )

  it('leaves everything that is not named as it was', () => {
    fc.assert(
      fc.property(parts, patches, fc.constantFrom('\n', '\r\n'), words, (own, patch, end, body) => {
        const file = (texts: string[]) =>
          `---\n${texts.map((text) => `${text}\n`).join('')}---\n\n`.replaceAll('\n', end) + body
        const text = file(own.map((part) => part.text))
        const before = parseFrontMatter(text)
        expect(before).not.toHaveProperty('problem')

        const updated = updateTopic(text, patch as Partial<TopicFields>)
        const after = parseFrontMatter(updated)
        expect(after).toEqual({ data: { ...before.data, ...asRead(patch) }, raw: after.raw, body: before.body })
        expect(updateTopic(updated, patch as Partial<TopicFields>)).toBe(updated)

        const set = new Map(Object.entries(asRead(patch)))
        const expected = own.map(({ key = '', form, text }) => {
          const value = set.get(key)
          return form && value !== undefined ? form(key, yamlScalar(value))[1] : text
        })
        const added = [...set].filter(([key]) => own.every((part) => part.key !== key))
        const withoutAdded = added.reduce(
          (rest, [key, value]) => rest.replace(`\n${key}: ${yamlScalar(value)}${end}`, () => '\n'),
          updated,
        )
        expect(withoutAdded).toBe(file(expected))
      }),
      { numRuns: 500 },
    )
  })

  it('changes no byte of a text that is no valid topic but the lines of the fields', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom('---\n', 'name', ': ', '\n', '\r\n', '"', 'x', '- ', '  ', '{', '*a'),
          maxLength: 14,
        }),
        (rest) => {
          const text = `---\nbroken: 'x\n${rest}`
          expect(
            updateTopic(updateTopic(text, { trust: 'tool' }), { trust: 'user' })
              .replace(/trust: user\r?\n/, '')
              .replace(/^---\n---\n\n/, ''),
          ).toBe(text)
        },
      ),
    )
  })
})

describe('the hook of a memory', () => {
  it('is its description, short enough for the index', () => {
    expect(hookOf({ description: 'no mocks' })).toBe('no mocks')
    expect(hookOf({})).toBe('')
    expect(hookOf({ description: 'word '.repeat(50) })).toBe(`${'word '.repeat(21)}word…`)
  })
})

const good = { name: 'Testing', description: 'no mocks', type: 'user', body: 'Use a real database.' } as const
const kinds = (text: string) => topicProblems(text).map(({ weight, kind }) => `${weight} ${kind}`)

describe('a topic file to be written', () => {
  it('is fit with its three fields', () => {
    expect(topicProblems(printTopic(good))).toEqual([])
    expect(topicProblems('---\nname: a\ndescription: b\nmetadata:\n  type: reference\n---\n\nx\n')).toEqual([])
  })

  it('is told all that is missing', () => {
    expect(topicProblems('---\nname: " "\ntype: secret\n---\nx')).toEqual([
      { weight: 'refuse', kind: 'name', text: 'the front matter has no name' },
      {
        weight: 'refuse',
        kind: 'description',
        text: 'the front matter has no description; say in one line what the memory holds',
      },
      {
        weight: 'refuse',
        kind: 'type',
        text: 'the front matter has no type; use one of user, feedback, project, reference',
      },
    ])
  })

  it.each([
    ['plain text', 'just text', ['refuse front-matter']],
    ['nothing', '', ['refuse front-matter']],
    ['front matter without an end', '---\nname: a\ndescription: b\ntype: user\n', ['refuse front-matter']],
    ['code as front matter', '---js\n({ name: "a" })\n---\n', ['refuse front-matter']],
    ['a NUL byte', `${printTopic(good)}\0`, ['refuse text']],
    ['half a character', `${printTopic(good)}\uD83D`, ['refuse text']],
    [
      'a value that only its line shows',
      `---\nname: 'it's'\ndescription: b\ntype: user\n---\n`,
      ['advice front-matter'],
    ],
  ])('%s is judged by what can be read', (_what, text, expected) => {
    expect(kinds(text)).toEqual(expected)
  })

  it('holds at most 64 KB, in bytes', () => {
    const empty = Buffer.byteLength(printTopic({ ...good, body: 'x\n' })) - 1
    const body = (bytes: number) => printTopic({ ...good, body: `${'é'.repeat((bytes - empty - 1) / 2)}\n` })
    const fits = body(65_536 - ((65_536 - empty - 1) % 2))
    expect(kinds(fits)).toEqual([])
    expect(topicProblems(`${fits}${'x'.repeat(65_537 - Buffer.byteLength(fits))}`)).toEqual([
      { weight: 'refuse', kind: 'size', text: 'it has 65537 bytes, a memory at most 65536; split it by topic' },
    ])
  })

  it('is advised to give the reason and the use of a rule', () => {
    expect(kinds(printTopic({ ...good, type: 'feedback' }))).toEqual(['advice why', 'advice how-to-apply'])
    const body = 'Rule.\n\n**Why:** reason\n\n**How to apply**: always\n'
    expect(topicProblems(printTopic({ ...good, type: 'project', body }))).toEqual([])
    expect(topicProblems(printTopic({ ...good, type: 'project', body: body.replace('**Why:**', 'Why:') }))).toEqual([
      { weight: 'advice', kind: 'why', text: 'a project memory should have a **Why:** line' },
    ])
  })
})
