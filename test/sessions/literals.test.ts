import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sources } from '../support/sources.ts'
import { recordings, spokenRig } from '../support/spoken.ts'

const literally = (literal: string) => `"${literal.replaceAll('"', '""')}"`
const _unredacted = async (text: string) => ({ text })

const ODD = [
  '部署脚本已经更新，请运行 npm test。用户说：不要提交！',
  'Ünïcode Straße ΟΔΟΣ οδος ﬁne ½ e\u0301 ｆｕｌｌ 가나다 ไทยแลนด์ カタカナ',
  'emoji 👩‍👩‍👧 and 𠀀𠀁 and zero\u0000byte\u2028line\ttab',
  `long ${createHash('sha512').update('run').digest('hex').repeat(2)}0${createHash('sha512').update('on').digest('hex')} end`,
  "TypeError: Cannot read properties of undefined (reading 'foo_bar')\n    at /srv/app/src/x-y.ts:12:7",
  'x',
  '=> {}); // ??',
  'C:\\dir\\"quoted" \\d+ [redacted:password] [',
]

/** Pieces of the texts, whole and bent: of another case, with a character more, less or changed. */
function literalsFrom(texts: readonly string[]) {
  const piece = fc
    .tuple(fc.nat(), fc.nat(), fc.oneof(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 90 })))
    .map(([which, from, length]) => {
      const characters = [...(texts[which % texts.length] ?? '')]
      const start = from % Math.max(1, characters.length)
      return characters.slice(start, start + length).join('')
    })
  const bend = fc.constantFrom<(text: string) => string>(
    (text) => text,
    (text) => text,
    (text) => text.toUpperCase(),
    (text) => `${text}s`,
    (text) => `.${text}`,
    (text) => [...text].slice(1).join(''),
    (text) => text.replace(/[aeiou]/, '-'),
    (text) => text.normalize('NFD'),
  )
  return fc.tuple(piece, bend).map(([text, bent]) => bent(text))
}

describe('a literal', () => {
  it('finds exactly the messages that a linear scan finds', async () => {
    const rig = await spokenRig()
    for (const { path, harness } of recordings()) await rig.take(path, { harness, session: path })
    const code = sources('daemon/db', 'daemon/transcripts', 'daemon/secrets').map(({ text }) => text)
    const pieces = code.flatMap((text) => text.match(/[\s\S]{1,700}/g) ?? [])
    await rig.say([...ODD, ...pieces].map((text, n) => ({ type: n % 3 ? 'user' : 'assistant', id: `m${n}`, text })))
    expect(rig.told.length).toBeGreaterThan(300)
    const texts = rig.told.map(({ text }) => text)
    const odd = texts.filter((text) => ODD.some((other) => text.includes(other.slice(0, 9))))
    expect(odd.length).toBeGreaterThanOrEqual(ODD.length - 1)
    await fc.assert(
      fc.asyncProperty(fc.oneof(literalsFrom(texts), literalsFrom(odd)), async (literal) => {
        if (literal === '') return
        const scan = rig.told.filter(({ text }) => text.includes(literal)).map(({ uid }) => uid)
        const found = new Set(await rig.ids(literally(literal)))
        if (scan.length < 999) expect(found, JSON.stringify(literal)).toEqual(new Set(scan))
        else expect(found.size).toBe(999)
      }),
      { numRuns: 120 },
    )
  })
})
