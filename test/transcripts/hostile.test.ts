import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { indexedText, usageOf } from '../../daemon/transcripts/digest.ts'
import type { Fact } from '../../daemon/transcripts/formats/facts.ts'
import { adapters } from '../../daemon/transcripts/formats/format.ts'
import { liveChain, turnsOf } from '../../daemon/transcripts/read-back.ts'
import { linesOf, recorded, recordings } from './telling.ts'

const BY = new Set(['person', 'agent', 'tool', 'injected', 'system'])
const STRINGS = ['id', 'model', 'cwd', 'branch', 'subAgent', 'turnId', 'answerId'] as const

const isText = (value: unknown) => typeof value === 'string'
const isTextOrNothing = (value: unknown) => value === undefined || isText(value)
const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0
const isTime = (value: unknown) => value === undefined || (isCount(value) && (value as number) < 253_402_300_800_000)

/** What every fact promises, whatever was read. */
function keepsItsWord(fact: Fact): boolean {
  if (fact.kind === 'unknown') return /^[\w.:/-]{1,128}$/.test(fact.type)
  if (fact.kind === 'rewound') return 'turns' in fact ? isCount(fact.turns) : isText(fact.from)
  if (fact.kind === 'session')
    return (
      isTextOrNothing(fact.sessionId) && (fact.cwd === undefined || fact.cwd.startsWith('/')) && isTime(fact.startedAt)
    )
  if (fact.kind !== 'message') return true
  const { by, text, parentId, at, usage, total, toolCalls, toolResults } = fact
  const counts = [usage, total?.usage, total?.last].flatMap((each) => Object.values(each ?? {}))
  return (
    BY.has(by) &&
    (by === 'injected' || by === 'system' ? text === '' : isText(text)) &&
    (parentId === null || isTextOrNothing(parentId)) &&
    STRINGS.every((key) => isTextOrNothing(fact[key])) &&
    isTime(at) &&
    counts.every(isCount) &&
    toolCalls.every((call) => isText(call.id) && isText(call.name) && isText(call.input)) &&
    toolResults.every((result) => isText(result.callId) && isText(result.text))
  )
}

/** Everything that is done with what was read. */
function use(facts: readonly Fact[]): void {
  expect(facts.filter((fact) => !keepsItsWord(fact))).toEqual([])
  const chain = liveChain(facts)
  expect(chain.every((message) => isText(indexedText(message)))).toBe(true)
  expect(turnsOf(chain).every(({ messageIds }) => messageIds.length <= chain.length)).toBe(true)
  expect(Object.values(usageOf(chain)).every((count) => count >= 0)).toBe(true)
}

const recordedLines = recordings().flatMap(({ harness, client, scenario, path }) =>
  linesOf(recorded(client, scenario, path)).map((line) => ({ harness, value: JSON.parse(line) as unknown })),
)
const odd = fc.oneof(
  fc.constantFrom(
    null,
    true,
    -1,
    1e308,
    '',
    ' ',
    '\0',
    '2026-11-16T00:00:00Z',
    'user',
    '<private',
    [],
    {},
    [null],
    [[]],
  ),
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<unknown>,
  fc.record({ __proto__: fc.anything(), type: fc.constantFrom('text', 'tool_use', 'tool_result', 'message') }),
)

/** One value somewhere inside becomes another. */
function spoilt(value: unknown, path: readonly number[], by: unknown): unknown {
  const [step = 0, ...rest] = path
  if (typeof value !== 'object' || value === null || path.length === 0) return by
  const entries = Object.entries(value)
  if (entries.length === 0) return by
  const at = step % entries.length
  const changed = entries.map(([key, inner], place) => [key, place === at ? spoilt(inner, rest, by) : inner] as const)
  return Array.isArray(value) ? changed.map(([, inner]) => inner) : Object.fromEntries(changed)
}

describe('whatever stands in a transcript', () => {
  it('is read without harm when a recorded line is spoilt in any place', () => {
    const line = fc.constantFrom(...recordedLines)
    const paths = fc.array(fc.nat(), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(fc.array(fc.tuple(line, paths, odd), { minLength: 1, maxLength: 12 }), (damages) => {
        for (const adapter of adapters) {
          use(damages.flatMap(([{ value }, path, by]) => adapter.read(JSON.stringify(spoilt(value, path, by)))))
        }
      }),
      { numRuns: 200 },
    )
  })

  it('is read without harm when it is any JSON, or none', () => {
    const any = fc.oneof(fc.json(), fc.string(), fc.string({ unit: 'binary' }))
    fc.assert(
      fc.property(fc.array(any, { maxLength: 5 }), (lines) => {
        for (const adapter of adapters) use(lines.flatMap((line) => adapter.read(line)))
      }),
      { numRuns: 300 },
    )
  })

  it.each(adapters)(
    'is read without harm by $harness when it is deep, long or named like what objects have',
    ({ read }) => {
      const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
      const deepFields = `${'{"input":'.repeat(20_000)}1${'}'.repeat(20_000)}`
      const call = (input: string) => `{"type":"tool_use","id":"t","name":"f","input":${input}}`
      const bodies = [deep, deepFields, `[${call(deep)},${call(deepFields)}]`, `[${`${call('{}')},`.repeat(5_000)}1]`]
      for (const body of bodies) {
        for (const type of ['user', 'assistant', 'gemini', 'message', 'response_item', 'session', 'attachment']) {
          use(
            read(
              `{"type":"${type}","content":${body},"message":{"role":"assistant","content":${body}},"payload":{"type":"function_call","name":"f","arguments":${body}}}`,
            ),
          )
        }
      }
      for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
        use(read(`{"type":"${name}","${name}":{"type":"user"}}`))
        use(
          read(
            `{"type":"assistant","message":{"id":"${name}","${name}":{},"content":[{"type":"tool_use","name":"${name}","input":{"${name}":1}}]}}`,
          ),
        )
      }
      expect(({} as { type?: string }).type).toBeUndefined()
    },
  )

  it.each(adapters)('is any path to $harness', ({ isTranscript, describe: tell, folder }) => {
    const part = fc.constantFrom(
      '/',
      '-',
      '_',
      '.jsonl',
      'agent-',
      'subagents',
      'chats',
      'rollout-',
      'pushed',
      'a',
      '0',
      '\n',
      '..',
    )
    fc.assert(
      fc.property(fc.string({ unit: part, maxLength: 60 }), (path) => {
        if (!isTranscript(path)) expect(tell(path)).toEqual({})
        for (const told of Object.values(tell(path))) expect(told ?? '').not.toMatch(/\//)
        expect(folder?.cwd(path, new Map([['../projects.json', '{']]))).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })
})
