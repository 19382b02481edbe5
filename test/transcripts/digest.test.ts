import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HEAD_CHARS, head, INDEXED_CHARS, indexedText } from '../../daemon/transcripts/digest.ts'
import { compose } from '../../daemon/transcripts/formats/facts.ts'
import { adapterFor } from '../../daemon/transcripts/formats/format.ts'
import { withoutPrivate } from '../../daemon/transcripts/injected.ts'
import { ingestRig } from './ingest-rig.ts'

describe('what can be searched for', () => {
  it('is what was said, the commands, and the heads of results', () => {
    const long = `${'x'.repeat(HEAD_CHARS)} y`
    expect(
      indexedText(
        compose({
          by: 'agent',
          text: 'look',
          toolCalls: [
            { id: '1', name: 'Bash', input: 'ls' },
            { id: '2', name: 'Write', input: long },
          ],
          toolResults: [{ callId: '1', text: long }],
        }),
      ),
    ).toBe(`look\nls\n${long.slice(0, -2)}\n${long.slice(0, -2)}`)
  })

  it.each(['injected', 'system'] as const)('is nothing that is %s', (by) => {
    expect(indexedText(compose({ by, text: 'PROBE' }))).toBe('')
  })

  it('is no more of a message than a bounded part', () => {
    const call = { id: '1', name: 'Bash', input: 'x'.repeat(HEAD_CHARS) }
    const toolCalls = Array.from({ length: INDEXED_CHARS / HEAD_CHARS }, () => call)
    const many = indexedText(compose({ by: 'agent', text: 'said', toolCalls }))
    expect([many.length <= INDEXED_CHARS, many.length > INDEXED_CHARS - HEAD_CHARS - 1]).toEqual([true, true])
    const words = 'word '.repeat(INDEXED_CHARS / 5)
    expect(indexedText(compose({ by: 'person', text: `${words}more` }))).toBe(words)
  })

  it('never ends in half a character', () => {
    const message = compose({ by: 'tool', toolResults: [{ callId: '1', text: `${'x'.repeat(HEAD_CHARS - 1)}👩` }] })
    expect(indexedText(message)).toBe('x'.repeat(HEAD_CHARS - 1))
  })

  it.each([
    ['a key', `${'word '.repeat(399)}sk-live-0123456789`, 'word '.repeat(399)],
    ['a field of JSON', `{"a":"${'x'.repeat(1_980)}","b":"0123456789-0123456789"}`, `{"a":"${'x'.repeat(1_980)}","b":`],
    ['what has no blank', 'x'.repeat(3_000), ''],
    ['Chinese', '部'.repeat(3_000), '部'.repeat(HEAD_CHARS)],
  ])('is cut where %s is whole', (_what, text, left) => {
    expect(head(text)).toBe(left)
  })

  it('holds nothing private, wherever it stood', () => {
    const secret = '<private>SECRET</private>'
    const message = compose({
      by: 'agent',
      text: `a ${secret}`,
      toolCalls: [{ id: '1', name: 'Bash', input: `b ${secret}` }],
      toolResults: [{ callId: '1', text: `c ${secret}` }],
    })
    expect(indexedText(message)).toBe('a\nb\nc')
  })
})

describe('a private span', () => {
  it('that is never closed hides what the agent calls after it', () => {
    const call = { id: 'c', name: 'Bash', input: 'echo SECRET' }
    const inputsOf = (text: string) =>
      compose({ by: 'agent', text, toolCalls: [call] }).toolCalls.map(({ input }) => input)
    expect(inputsOf('see <private>SECRET')).toEqual([''])
    expect(inputsOf('see <private>SECRET</private>')).toEqual(['echo SECRET'])
  })

  it.each([
    ['a <private>SECRET</private> b', 'a  b'],
    ['a <PRIVATE why="x > y">SECRET</Private > b', 'a  b'],
    ['a <private note="<b>">SECRET</private> b', 'a  b'],
    ['a <private\nSECRET', 'a'],
    ['a <private>SECRET', 'a'],
    ['a <private', 'a'],
    ['{"x":"a <private\\n>SECRET</private>"}', '{"x":"a "}'],
    ['{"x":"a <\\nprivate>SECRET<\\t/private> b"}', '{"x":"a  b"}'],
    ['a <private/>SECRET', 'a'],
    ['a < private >SECRET< / private > b', 'a  b'],
    ['a <private>S<private>E</private>CRET</private> b', 'a  b'],
    ['a <private>SECRET</private> b <private>SECRET', 'a  b'],
    ['{"a":"<private why=\\"x\\">SECRET</private>"}', '{"a":""}'],
    ['<privateKey>kept</privateKey> </private>', '<privateKey>kept</privateKey> </private>'],
    ['no span', 'no span'],
  ])('is taken out of %j', (text, left) => {
    expect(withoutPrivate(text)).toBe(left)
  })

  it('is gone for good, whatever stands around it', () => {
    const around = fc.string({ unit: fc.constantFrom('<', '>', '/', 'private', 'a', ' ', '"', '\n'), maxLength: 30 })
    fc.assert(
      fc.property(around, around, (before, after) => {
        const left = withoutPrivate(`${before}<private>SECRET</private>${after}`)
        expect(left).not.toContain('SECRET')
        expect(withoutPrivate(left)).not.toContain('SECRET')
      }),
      { numRuns: 500 },
    )
  })

  it('takes time in step with its length', () => {
    for (const part of ['<private>', '<private ', '</private>', '< ', '<']) {
      expect(withoutPrivate(part.repeat(50_000)).length).toBeLessThanOrEqual(part.length * 50_000)
    }
  })
})

const fixtures = fileURLToPath(new URL('../fixtures/transcripts', import.meta.url))
const harnesses = ['claude-code', 'codex', 'gemini', 'pi']

/** Each scenario by itself: they tell of the same session in different ways. */
const foldersIn = (folder: string) =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
const scenarios = foldersIn(fixtures).flatMap((client) =>
  foldersIn(join(fixtures, client)).map((name) => `${client}/${name}`),
)

it.each(scenarios)('counts in a list of sessions the turns that it gives of each: %s', async (scenario) => {
  const harness = harnesses.find((name) => scenario.startsWith(name)) ?? 'generic'
  const rig = await ingestRig()
  const names = readdirSync(join(fixtures, scenario), { recursive: true, encoding: 'utf8' })
  const { isTranscript } = adapterFor(harness)
  for (const name of names.filter(isTranscript).sort()) {
    rig.write(
      name,
      readFileSync(join(fixtures, scenario, name), 'utf8')
        .split('\n')
        .slice(0, -1),
    )
    await rig.read(harness, name)
  }
  const projects = rig.column("SELECT DISTINCT coalesce(project, '/') FROM sessions") as string[]
  rig.exec("UPDATE sessions SET project = '/' WHERE project IS NULL")
  const counted: Record<string, number> = {}
  const told: Record<string, number> = {}
  for (const cwd of projects)
    for (const { id, turns } of (await rig.sessions.list({ cwd })).items) {
      counted[id] = turns
      told[id] = (await rig.sessions.get(id, undefined)).turnList.length
    }
  expect(counted).toEqual(told)
  expect(Object.keys(told)).not.toEqual([])
})
