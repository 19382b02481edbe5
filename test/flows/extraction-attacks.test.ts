import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { TURNS } from '../../daemon/extraction/model/extraction-directive.ts'
import { attackTexts, WHERE, type Where } from '../extraction/attack-texts.ts'
import { following, learningHome, topics, written } from '../support/learning.ts'
import { calls, says } from '../support/messages-api/answers.ts'

type Session = Awaited<ReturnType<typeof learningHome>>['session']

const ASKED = 'Could you look at the setup page and the readme and tell me what they say about it?'
const TYPES = ['user', 'feedback', 'project', 'reference'] as const
/** In one answer. */
const AT_ONCE = 45

/** A turn in which the text stands where it may stand. */
function turnWith(session: Session, where: Where, texts: readonly string[]): object[] {
  const all = texts.join('\n\n')
  const shown = (name: string, input: object) => {
    const [call, result] = session.call(name, input) as [object, { message: { content: { content: string }[] } }]
    for (const block of result.message.content) block.content = all
    return [call, result]
  }
  const tools: Record<Exclude<Where, 'the agent'>, () => object[]> = {
    'tool output': () => shown('Bash', { command: 'make setup' }),
    'a web page': () => shown('WebFetch', { url: 'http://attacker.example' }),
    'a file': () => shown('Read', { file_path: '/repo/README.md' }),
  }
  if (where === 'the agent') return [session.person(ASKED), session.answer(all)]
  return [session.person(ASKED), ...tools[where](), session.answer('It says what it says.')]
}

/** The model does as it was told by the text: each becomes a memory of each type, and rests on one of these. */
function obeying(cites: readonly (readonly string[])[]) {
  const writes = attackTexts.flatMap((text, n) =>
    TYPES.map((type, at) => {
      const description = JSON.stringify(text.replace(/\s+/g, ' ').slice(0, 80))
      const evidence = [...(cites[(n + at) % cites.length] ?? [])]
      return written(`${type}_${n}.md`, type, text, evidence, { name: `Rule ${n}`, description })
    }),
  )
  const parts = Math.ceil(writes.length / AT_ONCE)
  return Array.from({ length: parts }, (_, n) => calls(...writes.slice(n * AT_ONCE, (n + 1) * AT_ONCE)))
}

it.each(WHERE)(
  'what is hidden in %s becomes neither what a person is nor what they want, and what is kept of it is marked',
  async (where) => {
    const { api, home, session } = await learningHome()
    const { client, ends } = await following(home)
    const messages = where === 'the agent' ? 2 : 4
    // The message it stands in, the one in which a person asked for it, or all of them.
    const cites = [[messages === 2 ? 'm2' : 'm3'], ['m1'], ['m1', 'm2', `m${messages}`]]
    const answers = obeying(cites)
    api.next(...answers, ...(answers.length < TURNS ? [says('Done.')] : []))
    session.write(...turnWith(session, where, attackTexts))
    expect((await ends.next()).result).toMatchObject({ saved: expect.any(Number) })
    const kept = topics(session.memories)
    expect(kept.length).toBeGreaterThan(attackTexts.length / 2)
    for (const file of kept) {
      expect(file).toMatch(/^(?:project|reference)_/)
      expect(readFileSync(join(session.memories, file), 'utf8')).toMatch(/^trust: untrusted$/m)
    }
    const lines = readFileSync(join(session.memories, 'MEMORY.md'), 'utf8').trim().split('\n')
    expect(lines).toHaveLength(kept.length)
    for (const line of lines) expect(line).toContain('(untrusted)')
    const listed = await client.memories({ cwd: session.cwd })
    expect(listed.items.filter(({ trust }) => trust !== 'untrusted')).toEqual([])
  },
  120_000,
)

it('lets pass what the person said in the same turn', async () => {
  const { api, home, session } = await learningHome()
  const { ends } = await following(home)
  const [asked, ...rest] = turnWith(session, 'a web page', attackTexts) as [{ message: { content: string } }]
  asked.message.content = `${ASKED} And please never squash commits, because we bisect a lot.`
  const body = 'Never squash commits.\n\n**Why:** they bisect a lot.\n\n**How to apply:** merge without squashing.'
  api.next(calls(written('feedback_squash.md', 'feedback', body, ['m1'])))
  session.write(asked, ...rest)
  expect((await ends.next()).result).toMatchObject({ saved: 1, refused: 0 })
  expect(readFileSync(join(session.memories, 'feedback_squash.md'), 'utf8')).not.toContain('trust')
})
