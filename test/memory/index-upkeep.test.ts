import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openFolder } from '../../daemon/memory/folder.ts'
import { upkeep } from '../../daemon/memory/index-upkeep.ts'
import { makeHome } from '../support/home.ts'

const topic = (name: string) => `---\nname: ${name}\ndescription: What to mind\ntype: feedback\n---\n\nMind it.\n`

const line = fc.oneof(
  fc.constantFrom('- [Old](old.md) — said before', '# Heading', '', 'plain words', '- [Größe](größe.md) – 雪 😀'),
  fc.string({ unit: 'binary', maxLength: 20 }).map((text) => text.replaceAll(/[\p{Cs}\0]/gu, '')),
)
const index = fc
  .tuple(fc.constantFrom('', '\uFEFF'), fc.array(line, { maxLength: 6 }), fc.constantFrom('\n', '\r\n'), fc.boolean())
  .map(([mark, lines, end, closed]) => `${mark}${lines.join(end)}${closed ? end : ''}`)

describe('the bytes of an index that is kept', () => {
  it('are those of its text, whatever stands in it', () => {
    const dir = join(makeHome().dir, 'memory')
    mkdirSync(dir)
    const folder = openFolder(dir)
    fc.assert(
      fc.property(index, fc.constantFrom('New one', 'Größe', '新しい'), (before, name) => {
        writeFileSync(join(dir, 'MEMORY.md'), before)
        for (const { text, bytes } of upkeep(folder, [{ file: 'feedback_new.md', content: topic(name) }])) {
          expect(bytes.equals(Buffer.from(text))).toBe(true)
          expect(text.endsWith(before) || text.includes('(feedback_new.md)')).toBe(true)
        }
      }),
      { numRuns: 500 },
    )
    folder.close()
  })
})
