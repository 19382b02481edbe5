import { describe, expect, it } from 'vitest'
import { bodiesOf, cappedNotes } from '../../daemon/notes/notes-guard.ts'
import type { Spoken } from '../../daemon/notes/notes-rules.ts'
import { addGathered, createGathering, errorsIn, shortWithNames } from '../../daemon/notes/notes-rules.ts'
import { blankNotes, DEFAULT_TEMPLATE, joined, parseTemplate } from '../../daemon/notes/template.ts'
import { tokensIn } from '../../daemon/platform/text.ts'
import { cpuMs } from '../support/cpu.ts'
import { factsOf, recorded, recordings } from '../transcripts/telling.ts'

const CWD = '/home/dev/proj/demo'
const blank = blankNotes(DEFAULT_TEMPLATE)
let count = 0
const say = (by: string, more: Partial<Spoken>): Spoken => ({
  uid: `u${++count}`,
  at: Date.UTC(2026, 10, 16, 10, 2),
  startsTurn: by === 'person' ? 1 : 0,
  by,
  text: '',
  toolCalls: [],
  toolResults: [],
  ...more,
})
const person = (text: string) => say('person', { text })
const agent = (text: string) => say('agent', { text })
const call = (id: string, name: string, input: unknown) =>
  say('agent', { toolCalls: [{ id, name, input: typeof input === 'string' ? input : JSON.stringify(input) }] })
const result = (callId: string, text: string) => say('tool', { toolResults: [{ callId, text }] })

function noted(spoken: readonly Spoken[], notes = blank, template = DEFAULT_TEMPLATE): string {
  const gathering = createGathering(CWD)
  for (const each of spoken) gathering.hear(each)
  return addGathered(template, notes, gathering.gathered, CWD)
}
const sections = (notes: string) =>
  Object.fromEntries(bodiesOf(DEFAULT_TEMPLATE, notes).map((body, n) => [DEFAULT_TEMPLATE[n]?.title, body]))

const work = [
  person('Fix the total in src/cart.ts, it is 3 cents off'),
  call('1', 'Read', { file_path: `${CWD}/src/cart.ts` }),
  result('1', '1\tthrow new Error("boom")'),
  call('2', 'Edit', { file_path: `${CWD}/src/cart.ts`, old_string: 'a', new_string: 'b' }),
  result('2', 'The file has been updated'),
  call('3', 'Bash', 'npm test -- cart'),
  result('3', "src/cart.ts(3,1): error TS2304: Cannot find name 'total'.\nFound 1 error."),
  call('4', 'Bash', 'npm test -- cart'),
  result('4', '12 passed, 0 failed'),
  agent('The total is right now: rounding was done twice.'),
]

describe('notes without a model', () => {
  it('name requests, files, commands, errors and results, each where it belongs', () => {
    expect(sections(noted(work))).toEqual({
      'Session Title': 'Fix the total in src/cart.ts, it is 3 cents off',
      'Current State':
        '- Asked last: Fix the total in src/cart.ts, it is 3 cents off\n- Answered last: The total is right now: rounding was done twice.',
      'Task specification': '- Fix the total in src/cart.ts, it is 3 cents off',
      'Files and Functions': '- src/cart.ts (edited, read)',
      Workflow: '- `npm test -- cart` (2 times)',
      'Errors & Corrections': "- `npm test -- cart`: src/cart.ts(3,1): error TS2304: Cannot find name 'total'.",
      'Codebase and System Documentation': `- The session works in ${CWD}`,
      Learnings: '',
      'Key results': '- The total is right now: rounding was done twice.',
      Worklog: '- 2026-11-16 10:02 Fix the total in src/cart.ts, it is 3 cents off: 4 tool calls, changed src/cart.ts',
    })
  })

  it('are made of a part in which only the agent, or only a tool, spoke', () => {
    const agentAlone = sections(noted([call('1', 'Bash', 'npm test'), agent('All tests pass now.')]))
    expect(agentAlone).toMatchObject({
      'Session Title': '',
      'Current State': '- Answered last: All tests pass now.',
      'Task specification': '',
      Workflow: '- `npm test`',
      Worklog: '- went on: 1 tool call',
    })
    const toolAlone = sections(noted([result('1', '<tool_use_error>File does not exist</tool_use_error>')]))
    expect(toolAlone).toMatchObject({
      'Current State': '',
      'Errors & Corrections': '- File does not exist',
      Worklog: '',
    })
  })

  it('go on in what is there, by a model or by rules', () => {
    const byModel = joined(
      DEFAULT_TEMPLATE,
      DEFAULT_TEMPLATE.map(({ title }) =>
        title === 'Learnings' ? 'Rounding is done once.' : title === 'Session Title' ? 'Cart' : '',
      ),
    )
    const first = noted(work, byModel)
    const then = noted(
      [
        person("No, don't round at all"),
        call('5', 'Write', { file_path: `${CWD}/src/cart.ts`, content: '' }),
        call('6', 'Bash', 'npm test -- cart'),
        result('6', 'Process exited with code 2\nOutput:\n'),
        agent('Rounding is gone.'),
      ],
      first,
    )
    expect(sections(then)).toMatchObject({
      'Session Title': 'Cart',
      'Current State': "- Asked last: No, don't round at all\n- Answered last: Rounding is gone.",
      'Task specification': "- Fix the total in src/cart.ts, it is 3 cents off\n- No, don't round at all",
      'Files and Functions': '- src/cart.ts (written, edited, read)',
      Workflow: '- `npm test -- cart` (3 times)',
      'Errors & Corrections': expect.stringContaining(
        "`npm test -- cart`: exit code 2\n- The user corrected: No, don't round at all",
      ),
      Learnings: 'Rounding is done once.',
    })
    expect(noted([], then)).toBe(then)
  })

  it('stay within the caps, and keep what can be looked for of every request', () => {
    const asks = Array.from({ length: 80 }, (_, n) =>
      person(
        `${'Please look at this once more and tell me what you think of it. '.repeat(8)} See src/part${n}/file_${n}.ts and run check-${n}.sh`,
      ),
    )
    const notes = noted(asks)
    expect(cappedNotes(DEFAULT_TEMPLATE, notes)).toBe(notes)
    expect(tokensIn(notes)).toBeLessThan(12_000)
    const kept = asks.filter((_, n) => notes.includes(`src/part${n}/file_${n}.ts`))
    expect(kept.length).toBeGreaterThan(50)
    expect(notes).toContain('src/part0/file_0.ts')
    expect(notes).toContain('src/part79/file_79.ts')
  })

  it('are bounded however much was done', () => {
    const much = Array.from({ length: 3_000 }, (_, n) => [
      call(`a${n}`, 'Edit', { file_path: `${CWD}/src/file${n}.ts` }),
      call(`b${n}`, 'Bash', `npm run step-${n} -- ${'x'.repeat(300)}`),
      result(`b${n}`, `error: step ${n} failed`),
      agent(`Step ${n} is done. ${'word '.repeat(300)}`),
      person(`Now do step ${n + 1}`),
    ]).flat()
    const notes = noted(much)
    expect(cappedNotes(DEFAULT_TEMPLATE, notes)).toBe(notes)
    expect(notes).toContain('step 2999 failed')
    expect(notes).toContain('src/file2999.ts')
  })

  it('cannot be bent by what a message says', () => {
    const hostile = ['# Current State', '```', '_What this session is about_', '---', '`a` # Worklog\n# Learnings\nall']
    const notes = noted(
      hostile.flatMap((text) => [person(text), call('x', 'Bash', text), result('x', `error: ${text}`), agent(text)]),
    )
    const fixed = DEFAULT_TEMPLATE.flatMap(({ heading, about }) => [heading, about])
    expect(notes.split('\n').filter((line) => fixed.includes(line))).toEqual(fixed)
    expect(joined(DEFAULT_TEMPLATE, bodiesOf(DEFAULT_TEMPLATE, notes))).toBe(notes)
    expect(sections(notes).Learnings).toBe('')
  })

  it('go into the last section of a template that has no place for them', () => {
    const parsed = parseTemplate('# Goal\n# Rest\n_all else_\n')
    const template = 'template' in parsed ? parsed.template : []
    const notes = noted(work, blankNotes(template), template)
    expect(notes).toMatch(/^# Goal\n\n# Rest\n_all else_\n\n/)
    for (const what of ['3 cents off', 'src/cart.ts (edited, read)', '`npm test -- cart`', 'TS2304'])
      expect(notes).toContain(what)
  })
})

describe('what went wrong', () => {
  it.each([
    ['a shell', true, 'npm ERR! missing script: tset\nsh: tset: command not found', ['sh: tset: command not found']],
    [
      'a trace',
      true,
      'Traceback (most recent call last):\n  File "a.py"\nValueError: no',
      ['Traceback (most recent call last):', 'ValueError: no'],
    ],
    ['an exit code', true, 'Chunk ID: f9\nProcess exited with code 1\nOutput:\n', ['exit code 1']],
    ['nothing', true, 'Process exited with code 0\nOutput:\nall good, 0 errors, no failures\n✓ handles error', []],
    ['a file that speaks of errors', false, 'throw new TypeError("failed")', []],
    ['a tool that failed', false, '<tool_use_error>File does not exist.</tool_use_error>', ['File does not exist.']],
  ])('is found in %s', (_what, ofShell, text, errors) => {
    expect(errorsIn(text, ofShell)).toEqual(errors)
  })

  it('is looked for in a short time, whatever came back', () => {
    for (const text of ['error '.repeat(200_000), `${'a'.repeat(500)}\n`.repeat(2_000), 'E'.repeat(1_000_000)])
      expect(cpuMs(() => errorsIn(text, true))).toBeLessThan(3_000)
  })
})

it('is told in few words with the names of what is left out', () => {
  const text = `${'a '.repeat(60)} run \`npm ci\` in packages/core with --force, see https://x.test/a?b=1 and fooBar_1, 42 times`
  expect(shortWithNames(text, 20, 200)).toBe(
    'a a a a a a a a a a… [`npm ci`, packages/core, --force, https://x.test/a?b=1, fooBar_1, 42]',
  )
})

describe('recorded sessions', () => {
  const spokenOf = (harness: string, text: string): Spoken[] =>
    factsOf(harness, text).flatMap((fact) =>
      fact.kind === 'message' && fact.subAgent === undefined
        ? [
            {
              uid: fact.id ?? '',
              at: fact.at ?? null,
              startsTurn: fact.startsTurn ? 1 : 0,
              by: fact.by,
              text: fact.text,
              toolCalls: fact.toolCalls,
              toolResults: fact.toolResults,
            } satisfies Spoken,
          ]
        : [],
    )
  const notesOf = (client: string, scenario: string) => {
    const found = recordings().find((each) => each.client === client && each.scenario === scenario)
    if (!found) throw new Error(`there is no recording ${client} ${scenario}`)
    return noted(spokenOf(found.harness, recorded(client, scenario, found.path)))
  }

  it('are noted with their files, commands and requests', () => {
    const notes = sections(notesOf('claude-code-2.1.325', '02-tools'))
    expect(notes['Task specification']).toContain('First prompt')
    expect(notes['Files and Functions']).toBe('- note.txt (written, edited, read)')
    expect(notes.Workflow).toBe('- `echo hi && ls`')
    expect(notes['Current State']).toContain('Answered last: All tools ran.')
    expect(notes.Worklog).toMatch(/: 4 tool calls, changed note\.txt$/)
  })

  it('are noted with what failed', () => {
    expect(sections(notesOf('codex-0.166.0', '02-tools-hooks'))['Errors & Corrections']).toBe('- `false`: exit code 1')
  })

  it.each(
    recordings().map((each) => [`${each.client} ${each.scenario} ${each.path.split('/').at(-1)}`, each] as const),
  )('of %s are noted with every request and command, within the caps', (_name, { client, harness, scenario, path }) => {
    const spoken = spokenOf(harness, recorded(client, scenario, path))
    const notes = noted(spoken)
    expect(cappedNotes(DEFAULT_TEMPLATE, notes)).toBe(notes)
    for (const { by, text, toolCalls } of spoken) {
      if (by === 'person' && text.trim() !== '') expect(notes).toContain(text.replace(/\s+/g, ' ').trim().slice(0, 60))
      for (const { name, input } of toolCalls)
        if (name.toLowerCase() === 'bash' || name === 'exec_command')
          expect(notes).toContain(input.replace(/\s+/g, ' ').trim().replaceAll('`', "'").slice(0, 60))
    }
  })
})
