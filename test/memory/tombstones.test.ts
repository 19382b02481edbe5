import { hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { normaliseValue, valuesOf, wholeValue } from '../../daemon/memory/tombstones.ts'
import { agent, memoryRig, person, type Rig, topic } from '../support/memory.ts'

const SAID = 'The staging database may be wiped at any time'

/** The same thing, said otherwise. */
const disguises: [string, string][] = [
  ['as it was', SAID],
  ['in other case', SAID.toUpperCase()],
  ['with other spaces', SAID.replaceAll(' ', ' \u00a0 ')],
  ['in compatibility forms', SAID.replaceAll('s', '\uff53').replace('fi', '\ufb01')],
  ['with invisible characters', SAID.replaceAll('a', 'a\u200b').replace('w', 'w\u2060\ufe0f')],
  ...['\x08', '\x0b', '\x0c', '\x1b', '\x7f', '\u0080', '\u0085', '\ue000', '\u{e0fff}', '\u0378', '\u2800'].map(
    (unseen): [string, string] => [
      `with ${JSON.stringify(unseen)} in a word`,
      SAID.replace('staging', `sta${unseen}ging`),
    ],
  ),
  ['with other punctuation', `${SAID.replace('database', 'database,')}!!`],
]

async function rejecting(): Promise<Rig & { tombstoneId: string }> {
  const rig = await memoryRig()
  const content = topic(`Something else that is true.\n\n- ${SAID}.\n- And a third thing to know.`)
  await rig.memory.put(rig.cwd, person, { file: 'wrong.md', content }, 'x')
  const { tombstoneId = '' } = await rig.memory.forget(rig.cwd, person, 'wrong.md', { reject: true, ifHash: undefined })
  return { ...rig, tombstoneId }
}

describe('a rejected value', () => {
  it('cannot come back by undoing that it was forgotten', async () => {
    const rig = await rejecting()
    const [last] = rig.memory.history.changes(rig.cwd, person, { file: 'wrong.md', limit: 1, after: undefined }).items
    await expect(rig.memory.undo.change(Number(last?.id), 'user')).rejects.toMatchObject({ reason: 'rejected-value' })
  })

  it('cannot come back without the credential that stood in it', async () => {
    const rig = await memoryRig()
    const text = `The staging cluster is reached with ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)} from the office`
    await rig.memory.put(rig.cwd, person, { file: 'other.md', content: topic('Something else.') }, 'x')
    writeFileSync(join(rig.dir, 'theirs.md'), topic(text))
    await rig.memory.forget(rig.cwd, person, 'theirs.md', { reject: true, ifHash: undefined })
    await expect(rig.memory.remember(rig.cwd, agent, text, undefined)).rejects.toMatchObject({
      reason: 'rejected-value',
    })
  })

  it('says nothing against other things, nor against another project', async () => {
    const rig = await rejecting()
    const nightly = 'The staging database is backed up every night'
    for (const [cwd, text] of [
      [rig.cwd, nightly],
      [join(rig.home, 'other'), SAID],
    ] as const)
      expect(await rig.memory.remember(cwd, agent, text, undefined)).toMatchObject({ action: 'created' })
  })

  it('is not fought over when a person writes it with an editor', async () => {
    const rig = await rejecting()
    writeFileSync(join(rig.dir, 'mine.md'), topic(SAID))
    await rig.memory.lookEverywhere()
    expect(rig.memory.reading.get(rig.cwd, person, 'mine.md', undefined).content).toBe(topic(SAID))
  })
})

describe('review', () => {
  it("holds an agent's change until a person approves it, and lets a person's through", async () => {
    const rig = await memoryRig({ review: 'required' })
    await rig.memory.put(rig.cwd, person, { file: 'mine.md', content: topic('By a person.') }, 'x')
    const { reviewId } = await rig.memory.put(
      rig.cwd,
      agent,
      { file: 'theirs.md', content: topic('By an agent.') },
      'x',
    )
    const { items } = await rig.memory.reading.list(rig.cwd, person, { type: undefined, q: undefined })
    expect(items.map(({ file }) => file)).toEqual(['mine.md'])
    expect(rig.memory.history.reviews().items).toMatchObject([{ id: reviewId, file: 'theirs.md', op: 'create' }])
    await rig.memory.review.approve(Number(reviewId))
    expect(rig.memory.reading.get(rig.cwd, person, 'theirs.md', undefined).content).toBe(topic('By an agent.'))
    expect(rig.memory.history.reviews().items).toEqual([])
  })

  it('keeps out for good what a person rejects', async () => {
    const rig = await memoryRig({ review: 'required' })
    const wish = { file: 'theirs.md', content: topic(SAID) }
    const { reviewId } = await rig.memory.put(rig.cwd, agent, wish, 'x')
    rig.memory.review.reject(Number(reviewId))
    await expect(rig.memory.put(rig.cwd, agent, wish, 'x')).rejects.toMatchObject({ reason: 'rejected-value' })
  })

  it('leaves no tombstone of a rejection that could not be ended', async () => {
    const rig = await memoryRig({ review: 'required' })
    const { reviewId } = await rig.memory.put(rig.cwd, agent, { file: 'theirs.md', content: topic(SAID) }, 'x')
    const { history } = rig.store
    history.exec("CREATE TEMP TRIGGER kill BEFORE DELETE ON main.reviews BEGIN SELECT raise(FAIL, 'killed'); END")
    expect(() => rig.memory.review.reject(Number(reviewId))).toThrow('killed')
    expect(rig.memory.tombstones.list()).toEqual([])
    history.exec('DROP TRIGGER kill')
    rig.memory.review.reject(Number(reviewId))
    expect(rig.memory.tombstones.list()).toHaveLength(1)
  })
})

/** As values were made when the first tombstones were. */
function asBefore(text: string): string {
  const seen = text.normalize('NFKC').replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')
  const small = seen.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase()
  return small.replace(/[\p{P}\p{S}\p{Z}\p{C}\s]+/gu, ' ').trim()
}

function valuesBefore(text: string): string[] {
  const mark = /^\s*(?:(?:[-*+>]|\d{1,3}[.)]|#{1,6}|\[[ xX]\])\s+)*/
  const values = [text, ...text.split(/\r?\n[^\S\r\n]*\r?\n/), ...text.split(/\r?\n/)]
    .map((part) => asBefore(part.replace(mark, '').replace(/^\*\*[^*\n]{1,40}:\*\*\s*/, '')))
    .filter((value) => value.length >= 12)
  return [...new Set(values)].map((value) => hash('sha256', value))
}

describe('values', () => {
  it('are what is said, not how', () => {
    for (const [, text] of disguises) expect(normaliseValue(text)).toBe(normaliseValue(SAID))
    expect(normaliseValue('Straße')).toBe(normaliseValue('STRASSE'))
  })

  it('are those of every line, whatever ends it, and of a text that shows a control character as a space', () => {
    for (const end of ['\n', '\r\n', '\r', '\x0b', '\x0c', '\u0085', '\u2028', '\u2029']) {
      const wrapped = SAID.replace(' may', `${end}may`)
      expect(valuesOf(`Hello to everybody${end}${SAID}${end}that is all`)).toEqual(
        expect.arrayContaining(valuesOf(SAID)),
      )
      expect(valuesOf(`Hello${end}${end}${wrapped}${end}${end}that is all`)).toEqual(
        expect.arrayContaining(valuesOf(SAID)),
      )
    }
    for (const between of ['\x0b', '\x1f', '\u0085', '\u2800'])
      expect(valuesOf(SAID.replaceAll(' ', between))).toEqual(expect.arrayContaining(valuesOf(SAID)))
    expect(valuesOf(`\u200b1. ${SAID}`)).toEqual(expect.arrayContaining(valuesOf(SAID)))
    expect(wholeValue('no\x7fpe')).toEqual(expect.arrayContaining(wholeValue('nope')))
  })

  it('are still those that earlier versions kept', () => {
    const parts = [
      'a',
      'ﬁ',
      'ß',
      '1. ',
      '- ',
      '> ',
      '**Why:** ',
      ', ',
      ' ',
      '\n',
      '\n\n',
      '\r\n',
      '\t',
      '\u200b',
      'Σ',
      'twelve ',
    ]
    const usual = fc.array(fc.constantFrom(...parts), { maxLength: 40 }).map((all) => all.join(''))
    const unusual = fc.string({ unit: 'binary', maxLength: 40 })
    fc.assert(
      fc.property(usual, (text) => {
        expect(normaliseValue(text)).toBe(asBefore(text))
        if (!text.includes('\u200b')) expect(valuesOf(text)).toEqual(valuesBefore(text))
      }),
    )
    fc.assert(
      fc.property(fc.oneof(usual, unusual), (text) => {
        expect(valuesOf(text)).toEqual(expect.arrayContaining(valuesBefore(text)))
      }),
    )
  })

  it('are taken from paragraphs, list items and labelled lines, and not from scraps', () => {
    const whole = valuesOf(`- ${SAID}\n\n**Why:** ${SAID}\n\nshort one`)
    expect(whole).toEqual(expect.arrayContaining(valuesOf(SAID)))
    expect(valuesOf('short one')).toEqual([])
  })
})
