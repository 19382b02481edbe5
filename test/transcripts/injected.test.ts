import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { indexedText } from '../../daemon/transcripts/digest.ts'
import { INJECTED_TAG, injectedBlock, stripInjected, stripOwn } from '../../daemon/transcripts/injected.ts'
import { factsOf, recorded, recordings } from './telling.ts'

describe('injected text', () => {
  it.each([
    ['<system-reminder>\nPROBE\n</system-reminder>\nhello', 'hello'],
    ['hello <hook_context>PROBE</hook_context>', 'hello'],
    ['<session_context>PROBE</session_context>', ''],
    ['<SYSTEM-REMINDER>PROBE</system-reminder>a', 'a'],
    ['<system-reminder>a<system-reminder>b</system-reminder>c</system-reminder>d', 'd'],
    [`<system-reminder>hook: <${INJECTED_TAG}>PROBE</system-reminder> hello`, ''],
    [`<system-reminder>hook: ${injectedBlock('PROBE')}</system-reminder> hello`, 'hello'],
    ['what does <system-reminder> mean?', 'what does <system-reminder> mean?'],
    ['what does <system-reminder> mean? <hook_context>PROBE</hook_context>', 'what does <system-reminder> mean?'],
    ['a </system-reminder> b', 'a </system-reminder> b'],
    ['<system-reminders>kept</system-reminders>', '<system-reminders>kept</system-reminders>'],
  ])('is taken out of %j', (text, left) => {
    expect(stripInjected(text)).toBe(left)
  })

  it('of ours is taken out of what agents say too, even when it was cut', () => {
    const block = injectedBlock('PROBE')
    expect(stripOwn(`before ${block} after`)).toBe('before  after')
    expect(stripOwn(`before ${block.slice(0, -8)}`)).toBe('before')
    expect(stripOwn('<system-reminder>is a tag</system-reminder>')).toBe('<system-reminder>is a tag</system-reminder>')
  })

  it('of ours cannot be ended or begun by what it holds', () => {
    const awkward = fc.string({
      unit: fc.constantFrom('<', '/', '>', INJECTED_TAG, INJECTED_TAG.toUpperCase(), ' ', 'a'),
    })
    fc.assert(
      fc.property(awkward, (text) => {
        expect(stripInjected(`before ${injectedBlock(text)} after`)).toBe('before  after')
      }),
      { numRuns: 500 },
    )
  })

  it('takes time in step with its length', () => {
    const hostile = ['<system-reminder>', '<hook_context', '</system-reminder>', '<', '< '].map((part) =>
      part.repeat(50_000),
    )
    for (const text of hostile) expect(stripInjected(text).length).toBeLessThanOrEqual(text.length)
  })
})

/** What hooks, compactions and memories put into the recordings; each stands in what was not said. */
const PROBES = ['MEMORY-PROBE-123', 'STOPBLOCK-PROBE', 'STOPCTX-PROBE', 'FAKE-COMPACT-SUMMARY']

describe('the probes in the recordings', () => {
  const all = recordings().map((recording) => ({
    ...recording,
    raw: recorded(recording.client, recording.scenario, recording.path),
  }))

  it.each(PROBES)('%s stands in them and in nothing that is told', (probe) => {
    expect(all.filter(({ raw }) => raw.includes(probe)).length).toBeGreaterThan(0)
    const told = all.filter(({ harness, raw }) => JSON.stringify(factsOf(harness, raw)).includes(probe))
    expect(told.map(({ path }) => path)).toEqual([])
  })

  it('an index of memories is told only where it was written', () => {
    const told = all.filter(({ raw }) => raw.includes('AUTOMEM-INDEX'))
    expect(told.map(({ path }) => path.slice(-8, -6))).toEqual(['01', '02'])
    const indexed = told.map(({ harness, raw }) =>
      factsOf(harness, raw).some((fact) => fact.kind === 'message' && indexedText(fact).includes('AUTOMEM-INDEX')),
    )
    expect(indexed).toEqual([true, false])
  })
})
