import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bodiesOf, cappedNotes, keptNotes, tooLong } from '../../daemon/notes/notes-guard.ts'
import { blankNotes, DEFAULT_TEMPLATE, joined, parseTemplate, type Template } from '../../daemon/notes/template.ts'
import { tokensIn } from '../../daemon/platform/text.ts'
import { cpuMs } from '../support/cpu.ts'

const restored = (text: string, template: Template = DEFAULT_TEMPLATE) => joined(template, bodiesOf(template, text))
const bodies = (text: string) =>
  Object.fromEntries(
    bodiesOf(DEFAULT_TEMPLATE, text).flatMap((body, n) => (body === '' ? [] : [[DEFAULT_TEMPLATE[n]?.title, body]])),
  )
const fixed = DEFAULT_TEMPLATE.flatMap(({ heading, about }) => [heading, about])
const full = joined(
  DEFAULT_TEMPLATE,
  DEFAULT_TEMPLATE.map((_, n) => `What is noted as ${n}.`),
)
const each = Object.fromEntries(DEFAULT_TEMPLATE.map(({ title }, n) => [title, `What is noted as ${n}.`]))
const about = (title: string) => DEFAULT_TEMPLATE.find((section) => section.title === title)?.about ?? ''

describe('the structure of notes', () => {
  it('has the ten sections, each with one line in italics, in words of its own', () => {
    expect(DEFAULT_TEMPLATE.map(({ title }) => title)).toEqual([
      'Session Title',
      'Current State',
      'Task specification',
      'Files and Functions',
      'Workflow',
      'Errors & Corrections',
      'Codebase and System Documentation',
      'Learnings',
      'Key results',
      'Worklog',
    ])
    expect(parseTemplate(blankNotes(DEFAULT_TEMPLATE))).toEqual({ template: DEFAULT_TEMPLATE })
    expect(DEFAULT_TEMPLATE.every((section) => /^_.+_$/.test(section.about))).toBe(true)
  })

  it('stays as it is, to the byte, where nothing is wrong', () => {
    expect(restored(full)).toBe(full)
    expect(restored(blankNotes(DEFAULT_TEMPLATE))).toBe(blankNotes(DEFAULT_TEMPLATE))
  })

  it('comes back when a heading, a line in italics or both are gone', () => {
    expect(restored(full.replace('# Workflow\n', ''))).toBe(full)
    expect(restored(full.replace(`${about('Workflow')}\n`, ''))).toBe(full)
    const gone = restored(full.replace(`# Workflow\n${about('Workflow')}\n`, ''))
    expect(bodies(gone)).toEqual({
      ...Object.fromEntries(Object.entries(each).filter(([title]) => title !== 'Workflow')),
      'Files and Functions': `${each['Files and Functions']}\n\n\n${each.Workflow}`,
    })
    expect(restored('')).toBe(blankNotes(DEFAULT_TEMPLATE))
    expect(bodies('No structure at all.')).toEqual({ 'Session Title': 'No structure at all.' })
  })

  it('comes back when sections were put in another order, twice, or one level lower', () => {
    const sections = full.split(/(?=^# )/m)
    expect(restored(sections.toReversed().join('\n'))).toBe(full)
    expect(bodies(`${full}\n# Worklog\n${about('Worklog')}\n\nMore.\n`)).toEqual({
      ...each,
      Worklog: `${each.Worklog}\n\n\nMore.`,
    })
    expect(restored(full.replace('# Learnings', '### learnings:'))).toBe(full)
    // A heading within a section stays one, though it is called as a section is.
    const inner = full.replace('What is noted as 3.', '## Workflow\ninner')
    expect(bodies(inner)['Files and Functions']).toBe('## Workflow\ninner')
  })

  it('comes back when headings or lines in italics were put in other words', () => {
    expect(restored(full.replace('# Workflow', '# How the work goes'))).toBe(full)
    expect(restored(full.replace(about('Workflow'), '_Whatever I like_'))).toBe(full)
    const both = full.replace(`# Workflow\n${about('Workflow')}`, '# Workflows')
    expect(restored(both)).toBe(full)
    expect(bodies(full.replace('What is noted as 9.', '# Extra\nwords'))).toEqual({
      ...each,
      Worklog: '## Extra\nwords',
    })
    // Words in italics that stand there besides ours are words.
    expect(bodies(full.replace('What is noted as 4.', '_Nobody_ said so\n_all of it_')).Workflow).toContain(
      '_all of it_',
    )
  })

  it('is not found within fences, and not swallowed by one that is left open', () => {
    const quoted = 'Notes begin so:\n```md\n# Workflow\ntext\n```'
    const inFence = restored(full.replace('What is noted as 6.', quoted))
    expect(bodies(inFence)).toEqual({
      ...each,
      'Codebase and System Documentation': quoted.replace('# Workflow', ' # Workflow'),
    })
    expect(restored(inFence)).toBe(inFence)
    const open = restored(full.replace('What is noted as 1.', '```sh\nnpm test'))
    expect(bodies(open)).toEqual({ ...each, 'Current State': '```sh\nnpm test\n```' })
    const twoOpen = full.replace('What is noted as 1.', '```\na').replace('What is noted as 3.', '```\nb')
    expect(bodies(twoOpen)).toEqual({ ...each, 'Current State': '```\na\n```', 'Files and Functions': '```\nb\n```' })
  })

  it('lets no words pass for marks that mean something elsewhere', () => {
    const text = full.replace('What is noted as 1.', 'a </current-notes> b <private> c < / PRIVATE> d')
    expect(bodies(text)['Current State']).toBe('a &lt;/current-notes> b &lt;private> c &lt; / PRIVATE> d')
  })

  it('survives any edit: every heading and line in italics once, in order, and no words lost', () => {
    const marks = [
      '```',
      '~~~~',
      '```ts',
      '````',
      '',
      '   ',
      '#',
      '# ',
      '## x',
      '# Unknown',
      '_so_',
      '*so*',
      '\r',
      '\\# Workflow',
    ]
    const line = fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...fixed) },
      { weight: 2, arbitrary: fc.constantFrom(...marks) },
      { weight: 1, arbitrary: fc.constantFrom(...fixed).map((text) => `  ${text.toUpperCase()} ##`) },
      { weight: 2, arbitrary: fc.integer({ min: 0, max: 1_000_000 }).map((n) => `word${n}`) },
      { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 30 }) },
    )
    fc.assert(
      fc.property(fc.array(line, { maxLength: 60 }), (lines) => {
        const text = lines.join('\n')
        const after = restored(text)
        expect(after.split('\n').filter((each) => fixed.includes(each))).toEqual(fixed)
        expect(restored(after)).toBe(after)
        for (const [word] of text.matchAll(/^word\d+$/gm)) expect(after).toContain(word)
      }),
      { numRuns: 2_000 },
    )
  })

  it('survives cuts and insertions anywhere in notes that were sound', () => {
    fc.assert(
      fc.property(fc.nat(full.length), fc.nat(full.length), fc.string({ maxLength: 40 }), (a, b, put) => {
        const after = restored(full.slice(0, Math.min(a, b)) + put + full.slice(Math.max(a, b)))
        expect(after.split('\n').filter((each) => fixed.includes(each))).toEqual(fixed)
        expect(restored(after)).toBe(after)
      }),
      { numRuns: 1_000 },
    )
  })

  it('takes time in proportion to the text, whatever is in it', () => {
    for (const line of ['```x', '```', '# Workflow', '~~~', '_a_', '# Unknown', ' ', '`'.repeat(50)])
      expect(cpuMs(() => restored(`${line}\n`.repeat(40_000)))).toBeLessThan(4_000)
  })
})

describe("a person's own template", () => {
  it('is taken with its headings, lines in italics and what stands below', () => {
    const text = '\uFEFF# Goal\r\n*What for*\r\n\r\nSay it plainly.\r\n\n# Facts\n\n```\n# no heading\n```\n# Last\n'
    const parsed = parseTemplate(text)
    expect(parsed).toEqual({
      template: [
        { title: 'Goal', heading: '# Goal', about: '*What for*', body: 'Say it plainly.' },
        { title: 'Facts', heading: '# Facts', about: '', body: '```\n# no heading\n```' },
        { title: 'Last', heading: '# Last', about: '', body: '' },
      ],
    })
    const template = 'template' in parsed ? parsed.template : []
    expect(restored('# Last\nb\n# Goal\na', template)).toBe('# Goal\n*What for*\n\na\n\n# Facts\n\n# Last\n\nb\n')
  })

  it.each([
    ['', 'it has no heading such as "# Current State"'],
    ['words\n# A', 'something stands before its first heading'],
    ['# A\n# a:', 'two of its headings are the same'],
    ['# A\n_x_\n# B\n_x_', 'two of its lines in italics are the same'],
    ['# !!\n', 'one of its headings has neither letters nor digits'],
    [`# ${'a'.repeat(600)}`, 'one of its headings or lines in italics is longer than 500 characters'],
    [Array.from({ length: 41 }, (_, n) => `# S${n}`).join('\n'), 'it has more than 40 sections'],
  ])('is not used when it cannot be kept: %j', (text, why) => {
    expect(parseTemplate(text)).toEqual({ unusable: why })
  })
})

const fixedCapsTest = DEFAULT_TEMPLATE.flatMap(({ heading, about }) => [heading, about])
const notes = (bodies: Record<string, string>) =>
  joined(
    DEFAULT_TEMPLATE,
    DEFAULT_TEMPLATE.map(({ title }) => bodies[title] ?? ''),
  )
const sectionsOf = (text: string) => text.split(/(?=^# )/m)
const lines = (count: number) =>
  Array.from({ length: count }, (_, n) => `- line ${String(n).padStart(6, '0')} of it`).join('\n')

describe('the caps of notes', () => {
  it('leave what is within them as it is', () => {
    const text = notes({ Workflow: lines(300), Worklog: 'x' })
    expect(cappedNotes(DEFAULT_TEMPLATE, text)).toBe(text)
    expect(tooLong(DEFAULT_TEMPLATE, text)).toEqual({ sections: [], whole: undefined })
  })

  it('cut a section at the end of a line, say so, and close its fence', () => {
    const text = notes({ Workflow: `\`\`\`sh\n${lines(1_000)}\n\`\`\`` })
    const [cut = ''] = sectionsOf(cappedNotes(DEFAULT_TEMPLATE, text)).filter((section) =>
      section.startsWith('# Workflow'),
    )
    expect(tokensIn(cut)).toBeLessThanOrEqual(2_000)
    expect(tokensIn(cut)).toBeGreaterThan(1_950)
    expect(cut).toMatch(/- line \d{6} of it\n```\n\[… the rest is left out: this section is too long …\]\n/)
    expect(tooLong(DEFAULT_TEMPLATE, text).sections).toEqual([{ title: 'Workflow', tokens: expect.any(Number) }])
  })

  it('name a section from one token over the cap on', () => {
    const bytes = 2_000 * 4 - Buffer.byteLength(`${joined([DEFAULT_TEMPLATE[4]] as never, ['x'])}\n`) + 1
    expect(tooLong(DEFAULT_TEMPLATE, notes({ Workflow: 'x'.repeat(bytes) })).sections).toEqual([])
    expect(tooLong(DEFAULT_TEMPLATE, notes({ Workflow: 'x'.repeat(bytes + 1) })).sections).toEqual([
      { title: 'Workflow', tokens: 2_001 },
    ])
  })

  it('cut the longest sections where all together are too long', () => {
    const bodies = Object.fromEntries(DEFAULT_TEMPLATE.map(({ title }) => [title, lines(330)]))
    const text = notes({ ...bodies, Learnings: lines(20) })
    expect(tooLong(DEFAULT_TEMPLATE, text)).toEqual({ sections: [], whole: expect.any(Number) })
    const capped = cappedNotes(DEFAULT_TEMPLATE, text)
    expect(tokensIn(capped)).toBeLessThanOrEqual(12_000)
    expect(tokensIn(capped)).toBeGreaterThan(11_700)
    expect(capped).toContain(lines(20))
  })

  it('hold for any notes, with the structure whole, and cutting again changes nothing', () => {
    const body = fc.oneof(
      fc.nat(1_500).map(lines),
      fc.nat(60_000).map((n) => 'x'.repeat(n)),
      fc.nat(20_000).map((n) => '漢'.repeat(n)),
      fc.constant('```\n'.repeat(3_000)),
      fc.constant(''),
    )
    fc.assert(
      fc.property(fc.array(body, { minLength: 10, maxLength: 10 }), (bodies) => {
        const capped = cappedNotes(DEFAULT_TEMPLATE, joined(DEFAULT_TEMPLATE, bodies))
        expect(tokensIn(capped)).toBeLessThanOrEqual(12_000)
        for (const section of sectionsOf(capped)) expect(tokensIn(section)).toBeLessThanOrEqual(2_000)
        expect(capped.split('\n').filter((line) => fixedCapsTest.includes(line))).toEqual(fixedCapsTest)
        expect(cappedNotes(DEFAULT_TEMPLATE, capped)).toBe(capped)
        expect(capped).not.toContain('\ufffd')
      }),
      { numRuns: 60 },
    )
  })

  it('keep the file itself from growing without end', () => {
    const text = notes({ Workflow: lines(40_000) })
    expect(tokensIn(keptNotes(DEFAULT_TEMPLATE, text))).toBeLessThan(9_000)
    expect(bodiesOf(DEFAULT_TEMPLATE, keptNotes(DEFAULT_TEMPLATE, text))[4]).toContain('line 000000')
  })
})
