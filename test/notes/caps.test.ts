import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cappedNotes, keptNotes, tooLong } from '../../daemon/notes/caps.ts'
import { bodiesOf } from '../../daemon/notes/guard.ts'
import { DEFAULT_TEMPLATE, joined } from '../../daemon/notes/template.ts'
import { tokensIn } from '../../daemon/platform/tokens.ts'

const fixed = DEFAULT_TEMPLATE.flatMap(({ heading, about }) => [heading, about])
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
        expect(capped.split('\n').filter((line) => fixed.includes(line))).toEqual(fixed)
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
