import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { redactedMessages } from '../../daemon/notes/notes.ts'
import { addGathered, createGathering } from '../../daemon/notes/notes-rules.ts'
import { blankNotes, DEFAULT_TEMPLATE } from '../../daemon/notes/template.ts'
import type { MessageRow } from '../../daemon/sessions/message-table.ts'
import { messagesAt } from '../../daemon/transcripts/digest.ts'
import { makeHome } from '../support/home.ts'
import { secretSamples } from '../support/secret-samples.ts'
import { seeded } from '../support/seed.ts'
import { fits, harnesses, spotNames, transcriptWith } from '../support/transcript-secrets.ts'

const COUNT = 400

/** The rows that reading a file would make. */
function rowsOf(harness: string, path: string, lines: readonly object[]): MessageRow[] {
  const texts = lines.map((line) => JSON.stringify(line))
  writeFileSync(path, `${texts.join('\n')}\n`)
  let offset = 0
  return texts.flatMap((text) => {
    const length = Buffer.byteLength(text)
    const place = { harness, path, offset, length }
    offset += length + 1
    return messagesAt(harness, text).map((message, n) => ({
      ...place,
      id: offset + n,
      uid: message.id ?? `${offset}`,
      at: message.at ?? null,
      by: message.by,
      startsTurn: message.startsTurn ? (1 as const) : (0 as const),
      ends: message.ends ?? null,
      toolCalls: message.toolCalls.length,
      tokens: null,
    }))
  })
}

it('says no credential that stands in a transcript, wherever it stands', { timeout: 120_000 }, async () => {
  const { dir } = makeHome()
  const leaks: string[] = []
  let told = 0
  for (const [n, sample] of secretSamples(seeded('secrets in notes'), COUNT).entries()) {
    const harness = harnesses[n % harnesses.length] as string
    const possible = spotNames.filter((spot) => fits(spot, sample))
    const spot = possible[n % possible.length] as (typeof spotNames)[number]
    const { lines } = transcriptWith(harness, spot, sample, n, '/work')
    const part = rowsOf(harness, join(dir, 's.jsonl'), lines as object[])
    const gathering = createGathering('/work')
    for await (const spoken of redactedMessages(part, new AbortController().signal)) gathering.hear(spoken)
    const notes = addGathered(DEFAULT_TEMPLATE, blankNotes(DEFAULT_TEMPLATE), gathering.gathered, '/work')
    const secret = sample.secret
      .replace(/-----(?:BEGIN|END) [A-Z ]+-----/g, '')
      .replace(/\s+/g, ' ')
      .trim()
    if (notes.replace(/\s+/g, ' ').includes(secret)) leaks.push(`${spot} of ${harness}, ${sample.kind}`)
    if (notes.includes('[redacted')) told++
  }
  expect(leaks).toEqual([])
  expect(told).toBeGreaterThan(COUNT / 10)
})
