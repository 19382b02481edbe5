/** Lists of messages for random tests: such as the strict server takes, and such as went wrong; and the server's own judgement. */
import fc from 'fast-check'
import type { Block, Message } from '../../daemon/context/messages.ts'
import { ruleProblem, signatureOf } from '../support/messages-api/rules.ts'
import { Body, formProblem } from '../support/messages-api/wire.ts'

const TOOLS = ['Read', 'Bash', 'Grep', 'Edit', 'Write', 'WebFetch', 'mcp__db__query', 'Task', 'TodoWrite']

/** What the strict server has against a list; nothing if it takes it. Ids are the harness's own and are never sent. */
export function problemWith(messages: readonly Message[]): string | undefined {
  const body = {
    model: 'claude-haiku-5-5',
    max_tokens: 1_000,
    tools: TOOLS.map((name) => ({ name, input_schema: { type: 'object' } })),
    messages: messages.map(({ role, content }) => ({ role, content })),
  }
  return formProblem(body) ?? ruleProblem(Body.parse(body))
}

const words = fc.oneof(
  fc.string({ minLength: 1, maxLength: 40 }).filter((text) => /\S/.test(text)),
  fc.integer({ min: 1, max: 3_000 }).map((count) => 'word '.repeat(count)),
  fc.constantFrom(
    '{"a": [1, 2]}',
    '[1, 2, 3]',
    '<memoryd-context>\nA memory.\n</memoryd-context>',
    '<system-reminder>\n<memoryd-context>\nA memory that was recalled.\n</memoryd-context>\n</system-reminder>\n',
    'Fix the build.',
    '😀'.repeat(2_001),
    `x${'😀'.repeat(2_001)}`,
  ),
)
const text = words.map((said): Block => ({ type: 'text', text: said }))
const image = fc.constant<Block>({
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: 'aGVsbG8=' },
})
const thinking = words.map((said): Block => ({ type: 'thinking', thinking: said, signature: signatureOf(said) }))
const use = fc.record({ name: fc.constantFrom(...TOOLS), input: inputs() })
const resultContent = fc.oneof(
  words,
  fc.integer({ min: 1, max: 40_000 }).map((chars) => 'x'.repeat(chars)),
  fc.array(fc.oneof(text, image), { minLength: 1, maxLength: 2 }),
)

function inputs(): fc.Arbitrary<Record<string, unknown>> {
  return fc.oneof(
    fc.constantFrom('/a.ts', '/b.ts').map((file_path) => ({ file_path })),
    fc.constantFrom('npm test', 'ls').map((command) => ({ command })),
    fc.constant({ todos: [{ content: 'write the docs', status: 'pending' }] }),
    fc.constant({}),
  )
}

/** One question and what became of it: rounds of calls with their results, then an answer. */
const exchange = fc.record({
  prompt: fc.oneof(words, fc.array(fc.oneof(text, image), { minLength: 1, maxLength: 3 })),
  system: fc.option(words, { nil: undefined }),
  rounds: fc.array(
    fc.record({
      before: fc.array(fc.oneof(text, thinking), { maxLength: 2 }),
      split: fc.boolean(),
      calls: fc.array(fc.record({ use, content: resultContent, failed: fc.boolean() }), { minLength: 1, maxLength: 3 }),
      after: fc.array(text, { maxLength: 1 }),
    }),
    { maxLength: 4 },
  ),
  answer: fc.array(fc.oneof(text, thinking), { minLength: 1, maxLength: 2 }),
})

export type ListOptions = { ids: 'given' | 'none' }

/** Ends with a question that was not answered, as a request does. */
export function accepted({ ids }: ListOptions): fc.Arbitrary<Message[]> {
  return fc.record({ exchanges: fc.array(exchange, { maxLength: 5 }), last: words }).map(({ exchanges, last }) => {
    const messages: Message[] = []
    let call = 0
    for (const { prompt, system, rounds, answer } of exchanges) {
      messages.push({ role: 'user', content: prompt })
      if (system !== undefined) messages.push({ role: 'system', content: system })
      for (const { before, split, calls, after } of rounds) {
        const named = calls.map((each) => ({ ...each, id: `toolu_${++call}` }))
        const uses = named.map(({ id, use }): Block => ({ type: 'tool_use', id, ...use }))
        const isSplit = split && before.length > 0
        if (isSplit) messages.push({ role: 'assistant', content: before })
        messages.push({ role: 'assistant', content: isSplit ? uses : [...before, ...uses] })
        const results = named.map(
          ({ id, content, failed }): Block => ({
            type: 'tool_result',
            tool_use_id: id,
            content,
            ...(failed && { is_error: true }),
          }),
        )
        messages.push({ role: 'user', content: [...results, ...after] })
      }
      messages.push({ role: 'assistant', content: answer })
    }
    messages.push({ role: 'user', content: last })
    return ids === 'none' ? messages : messages.map((message, n) => ({ id: `m${n}`, ...message }))
  })
}

/** The same, with pieces taken out, doubled, moved, and others put in. */
export const broken = fc
  .record({
    list: accepted({ ids: 'none' }),
    hurts: fc.array(fc.record({ kind: fc.nat(8), at: fc.nat(40) }), { minLength: 1, maxLength: 6 }),
  })
  .map(({ list, hurts }) => hurts.reduce<unknown[]>(hurt, list))

function hurt(list: unknown[], { kind, at }: { kind: number; at: number }): unknown[] {
  if (list.length === 0) return list
  const n = at % list.length
  const message = list[n] as Message
  const others: unknown[] = [
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_of_no_call', content: 'x' }] },
    { type: 'progress', data: 'half way' },
    { role: 'assistant', content: [{ type: 'tool_use', id: `toolu_extra_${at}`, name: 'Read', input: {} }] },
    { role: 'user', content: [{ type: 'text', text: '  ' }] },
    { role: 'user', content: 'More.', surprise: true },
  ]
  if (kind === 0) return list.toSpliced(n, 1)
  if (kind === 1) return list.toSpliced(n, 0, message)
  if (kind === 2) return list.toSpliced(n, 0, others[at % others.length])
  if (kind === 3) return [...list.slice(n), ...list.slice(0, n)]
  if (kind === 4) return list.slice(n)
  if (kind === 5) return list.slice(0, n + 1)
  if (kind === 6 && Array.isArray(message.content))
    return list.with(n, { ...message, content: message.content.toReversed() })
  if (kind === 7 && Array.isArray(message.content))
    return list.with(n, { ...message, content: message.content.slice(1) })
  return list.with(n, { ...message, role: 'assistant' })
}
