import { describe, expect, it } from 'vitest'
import { printTopic } from '../../daemon/memory/topic-file.ts'
import { topicProblems } from '../../daemon/memory/topic-problems.ts'

const good = { name: 'Testing', description: 'no mocks', type: 'user', body: 'Use a real database.' } as const
const kinds = (text: string) => topicProblems(text).map(({ weight, kind }) => `${weight} ${kind}`)

describe('a topic file to be written', () => {
  it('is fit with its three fields', () => {
    expect(topicProblems(printTopic(good))).toEqual([])
    expect(topicProblems('---\nname: a\ndescription: b\nmetadata:\n  type: reference\n---\n\nx\n')).toEqual([])
  })

  it('is told all that is missing', () => {
    expect(topicProblems('---\nname: " "\ntype: secret\n---\nx')).toEqual([
      { weight: 'refuse', kind: 'name', text: 'the front matter has no name' },
      {
        weight: 'refuse',
        kind: 'description',
        text: 'the front matter has no description; say in one line what the memory holds',
      },
      {
        weight: 'refuse',
        kind: 'type',
        text: 'the front matter has no type; use one of user, feedback, project, reference',
      },
    ])
  })

  it.each([
    ['plain text', 'just text', ['refuse front-matter']],
    ['nothing', '', ['refuse front-matter']],
    ['front matter without an end', '---\nname: a\ndescription: b\ntype: user\n', ['refuse front-matter']],
    ['code as front matter', '---js\n({ name: "a" })\n---\n', ['refuse front-matter']],
    ['a NUL byte', `${printTopic(good)}\0`, ['refuse text']],
    ['half a character', `${printTopic(good)}\uD83D`, ['refuse text']],
    [
      'a value that only its line shows',
      `---\nname: 'it's'\ndescription: b\ntype: user\n---\n`,
      ['advice front-matter'],
    ],
  ])('%s is judged by what can be read', (_what, text, expected) => {
    expect(kinds(text)).toEqual(expected)
  })

  it('holds at most 64 KB, in bytes', () => {
    const empty = Buffer.byteLength(printTopic({ ...good, body: 'x\n' })) - 1
    const body = (bytes: number) => printTopic({ ...good, body: `${'é'.repeat((bytes - empty - 1) / 2)}\n` })
    const fits = body(65_536 - ((65_536 - empty - 1) % 2))
    expect(kinds(fits)).toEqual([])
    expect(topicProblems(`${fits}${'x'.repeat(65_537 - Buffer.byteLength(fits))}`)).toEqual([
      { weight: 'refuse', kind: 'size', text: 'it has 65537 bytes, a memory at most 65536; split it by topic' },
    ])
  })

  it('is advised to give the reason and the use of a rule', () => {
    expect(kinds(printTopic({ ...good, type: 'feedback' }))).toEqual(['advice why', 'advice how-to-apply'])
    const body = 'Rule.\n\n**Why:** reason\n\n**How to apply**: always\n'
    expect(topicProblems(printTopic({ ...good, type: 'project', body }))).toEqual([])
    expect(topicProblems(printTopic({ ...good, type: 'project', body: body.replace('**Why:**', 'Why:') }))).toEqual([
      { weight: 'advice', kind: 'why', text: 'a project memory should have a **Why:** line' },
    ])
  })
})
