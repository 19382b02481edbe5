import { expect, it } from 'vitest'
import { formsIn } from '../../daemon/extraction/model/compared-words.ts'
import { excerptOf } from '../../daemon/extraction/model/extraction-run.ts'
import { datedText, relativeDaysIn } from '../../daemon/extraction/model/log-lines.ts'

/** A Tuesday. */
const cited = [{ id: 'a', by: 'person' as const, text: 'x', shown: [], at: new Date(2026, 4, 12, 10).getTime() }]

it.each([
  ['The freeze starts next\nFriday, because', 'The freeze starts 2026-05-22, because'],
  ['due next\nweek', 'due the week of 2026-05-18'],
  ['due end of\nthe month', 'due 2026-05-31'],
  ['due this weekend', 'due the weekend of 2026-05-16'],
  ['due next weekend', 'due the weekend of 2026-05-23'],
  ['due next\u00a0week', 'due the week of 2026-05-18'],
  ['due tmrw', 'due 2026-05-13'],
  ['due to\u200bmorrow', 'due 2026-05-13'],
  ['due ｔｏｍｏｒｒｏｗ', 'due 2026-05-13'],
  ['a\nb tomorrow\n\n- next\n- week', 'a\nb 2026-05-13\n\n- next\n- week'],
  [
    '---\nname: x\ndescription: due tomorrow\ntype: project\n---\n\nDue tomorrow.',
    '---\nname: x\ndescription: due 2026-05-13\ntype: project\n---\n\nDue 2026-05-13.',
  ],
])('%j is dated', (text, dated) => {
  expect(datedText('', text, cited)).toBe(dated)
  expect(relativeDaysIn('', dated)).toEqual([])
})

it('goes by the day it was where the words were said', () => {
  const spoken = { id: 'a', by: 'person' as const, text: 'x', shown: [], at: Date.UTC(2026, 10, 1, 10, 30) }
  const dated = (minutesEast: number) => datedText('', 'due tomorrow', [{ ...spoken, minutesEast }])
  expect([dated(-660), dated(840)]).toEqual(['due 2026-11-01', 'due 2026-11-03'])
})

it('leaves what stood there before as it is', () => {
  expect(datedText('It was said tomorrow.', 'It was said tomorrow.\nDue tomorrow.', cited)).toBe(
    'It was said tomorrow.\nDue 2026-05-13.',
  )
})

it('looks for the words of a memory at both ends of a message that is a document', () => {
  const lines = Array.from({ length: 50_000 }, (_, n) => `log line number ${n}`)
  lines[25_000] = 'squash squash squash commits'
  const said = 'Please never squash commits.'
  const about = formsIn('Never squash commits.')
  expect(excerptOf(`${lines.join('\n')}\n${said}`, about)).toBe(said)
  expect(excerptOf(`${said}\n${lines.join('\n')}`, about)).toBe(said)
})
