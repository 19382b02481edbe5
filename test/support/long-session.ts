/**
 * Makes a long session of coding, always the same one: turns of about 2,000 tokens with what a person asks, what an agent
 * does and what its tools show. Words are drawn from a seeded source, so no two turns are alike.
 */
import type { Message } from '../../daemon/transcripts/formats/facts.ts'

/** In the daemon's own words, each with an id. */
export type NamedMessage = Message & { id: string }

const WORDS =
  `module request handler session token cache build release index query schema table worker queue retry error
timeout stream parser buffer socket client server route config option flag default value test fixture branch commit merge
review deploy staging metric latency budget limit window memory file folder path line column change update delete create read
write check verify because before after should would could while until where which other first last next again only never
always often rarely faster slower larger smaller broken fixed missing extra`
    .trim()
    .split(/\s+/)

const START_MS = Date.UTC(2026, 4, 4, 9)
const TURN_MS = 180_000

export function longSession(turns: number): NamedMessage[][] {
  const draw = seeded(42)
  const text = (chars: number) => {
    let words = ''
    while (words.length < chars)
      words += `${words === '' ? '' : ' '}${WORDS[draw(WORDS.length)]}${draw(9) === 0 ? '.' : ''}`
    return words
  }
  const code = (chars: number) => {
    let lines = ''
    for (let n = 1; lines.length < chars; n++) lines += `${n}\tconst ${text(8).replaceAll(/\W/g, '_')} = ${text(30)}\n`
    return lines
  }
  return Array.from({ length: turns }, (_, turn) => {
    const at = START_MS + turn * TURN_MS
    let n = 0
    const message = (more: Partial<Message>): NamedMessage => ({
      kind: 'message',
      by: 'agent',
      text: '',
      toolCalls: [],
      toolResults: [],
      id: `t${turn + 1}-${++n}`,
      at: at + n * 10_000,
      ...more,
    })
    const tools = Array.from({ length: 3 }, (_, k) => {
      const id = `call-${turn}-${k}`
      const input = k === 0 ? `npm test -- ${text(20)}` : JSON.stringify({ file_path: `/repo/src/${text(6)}.ts` })
      return [
        message({ text: text(260), toolCalls: [{ id, name: k === 0 ? 'Bash' : 'Read', input }] }),
        message({ by: 'tool', toolResults: [{ callId: id, text: code(k === 2 ? 2_300 : 1_150 + draw(400)) }] }),
      ]
    })
    return [
      message({ by: 'person', text: text(500), startsTurn: true }),
      ...tools.flat(),
      message({ text: text(1_400), ends: 'final' }),
    ]
  })
}

/** The same numbers on every machine. */
function seeded(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
