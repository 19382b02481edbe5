import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createReading } from '../../daemon/extraction/reading.ts'
import type { SaidMessage } from '../../daemon/sessions/message-table.ts'
import { makeHome } from '../support/home.ts'

/** A session of which every line is one message; tells how many lines were parsed. */
function sessionOf(said: readonly { by: 'person' | 'agent'; text: string }[]) {
  const path = join(makeHome().dir, 's.jsonl')
  const lines = said.map((each) => JSON.stringify(each))
  writeFileSync(path, lines.join('\n'))
  let offset = 0
  const part = said.map(({ by }, n) => {
    const length = Buffer.byteLength(lines[n] as string)
    const message = { id: n + 1, uid: `m${n}`, by, harness: 'generic', path, offset, length }
    offset += length + 1
    return message as unknown as SaidMessage
  })
  let parsed = 0
  const reading = createReading({
    said: { agentBefore: (_row, id) => part.filter((each) => each.by === 'agent' && each.id < id).reverse() },
    messagesAt: (_harness, line) => {
      parsed++
      return [{ toolCalls: [], ...JSON.parse(line) }]
    },
    redact: async (text) => ({ text }),
  })
  return { words: reading.words(1, part, new AbortController().signal), parsed: () => parsed }
}

it('gives what persons said one by one: the next is read when it is asked for', async () => {
  const { words, parsed } = sessionOf([1, 2, 3].map((n) => ({ by: 'person' as const, text: `word ${n}` })))
  expect((await words.next()).value).toMatchObject({ text: 'word 1' })
  expect(parsed()).toBe(1)
  expect((await words.next()).value).toMatchObject({ text: 'word 2' })
  await words.return(undefined)
  expect(parsed()).toBe(2)
})

it('takes the beginning of what was pasted and the end of the answer before it, and neither up to where they were cut', async () => {
  const { words } = sessionOf([
    { by: 'agent', text: `${'a'.repeat(50_000)} shall I?` },
    { by: 'person', text: `always do it ${'p'.repeat(200_000)}` },
  ])
  const { value } = await words.next()
  expect(value?.text).toHaveLength(72_000)
  expect(value?.text).toMatch(/^always do it p+$/)
  expect(value?.previousAssistant).toHaveLength(8_000)
  expect(value?.previousAssistant).toMatch(/^a+ shall I\?$/)
})
