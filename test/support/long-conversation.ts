/** The example harness in a conversation far past its window, against the strict server: a scripted model that never tires of tools. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { createHarness } from '../../client/examples/harness.ts'
import { connect, type FitStep } from '../../client/index.ts'
import { makeHome } from './home.ts'
import { startDaemon } from './in-process.ts'
import { calls, says } from './messages-api/answers.ts'
import { startMessagesApi } from './messages-api/start.ts'
import type { Body } from './messages-api/wire.ts'

/** An unknown name: its window is the usual one. */
const MODEL = 'scripted-model'
const SUMMARISER = 'claude-haiku-5-5'
const WINDOW = 200_000
const ROUNDS = 6
const words = (chars: number, seed: number) =>
  `line ${seed} of the output, with words in it\n`.repeat(Math.ceil(chars / 42)).slice(0, chars)

type Options = { tokens: number; key: 'with' | 'without' }

export async function longConversation({ tokens, key }: Options) {
  const seen = { refused: [] as string[], requests: 0, summaries: 0, processed: 0 }
  let round = 0
  const models = {
    [MODEL]: { window: WINDOW, maxOutput: 64_000, minCacheTokens: 1_024 },
    [SUMMARISER]: { window: 1_000_000, maxOutput: 64_000, minCacheTokens: 1_024 },
  }
  const api = await startMessagesApi({
    models,
    script: ({ body }) => {
      seen.requests++
      if (body.model === SUMMARISER) {
        seen.summaries++
        return says('<analysis>draft</analysis><summary>1. Request and intent: to go through all parts.</summary>')
      }
      const at = round++ % (ROUNDS + 1)
      if (at === ROUNDS) return says(`That is done. ${lastText(body).slice(0, 40)}`)
      const name = ['Read', 'Bash', 'Grep', 'Edit', 'mcp__db__query', 'mcp__db__query'][at] as string
      const input = name === 'Bash' ? { command: `check part ${round}` } : { file_path: `/src/part-${round}.ts` }
      return calls(
        { id: `toolu_${round}`, name, input },
        { id: `toolu_${round}b`, name: 'Bash', input: { command: 'ls' } },
      )
    },
  })
  const drain = () => {
    // Each holds the whole conversation: the count is enough.
    for (const { refused } of api.requests.splice(0)) if (refused !== undefined) seen.refused.push(refused)
  }
  const home = makeHome(key === 'with' ? { ANTHROPIC_API_KEY: 'test-key', ANTHROPIC_BASE_URL: api.url } : {})
  const budget = { usdPerDay: 1_000, tokensPerDay: 1_000_000_000 }
  writeFileSync(home.places.configFile, JSON.stringify({ model: { compact: SUMMARISER }, budget }))
  await startDaemon(home)
  const memory = connect({ socket: home.places.socketPath, strict: true, deadlineMs: 30_000 })
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const did: FitStep[] = []
  let produced = 0
  const print = (chars: number) => async () => {
    // One in forty prints more than stays in a context.
    const text = words(produced % 40 === 39 ? 70_000 : chars, produced)
    produced++
    seen.processed += Math.ceil(text.length / 4)
    return text
  }
  const tools = {
    Read: { description: 'Reads', run: print(14_000) },
    Bash: { description: 'Runs', run: print(4_000) },
    Grep: { description: 'Searches', run: print(9_000) },
    Edit: { description: 'Edits', run: print(400) },
    mcp__db__query: { description: 'Asks', run: print(36_000) },
  }
  const onFit = (steps: FitStep[]) => did.push(...steps)
  const harness = createHarness({
    api: { baseUrl: api.url, key: 'test-key', model: MODEL },
    memory,
    sessionId: 's',
    tools,
    cwd,
    onFit,
  })
  for (let turn = 0; seen.processed < tokens; turn++) {
    const answer = await harness.say(`Request ${turn}: go through the parts of step ${turn}, please.`)
    expect(answer).toContain('That is done.')
    drain()
  }
  memory.close()
  const steps = (step: FitStep['step']) => did.filter((each) => each.step === step).length
  return {
    ...seen,
    did,
    compactions: steps('compact'),
    cleared: steps('microcompact'),
    stored: steps('tool-results'),
    refusals: steps('refused'),
  }
}

function lastText({ messages }: Body): string {
  const { content } = messages.at(-1) ?? { content: '' }
  return typeof content === 'string' ? content : JSON.stringify(content.at(-1))
}
