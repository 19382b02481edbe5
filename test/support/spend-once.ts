/** A process that asks a model once and says what became of it: to be killed at any time. */

import { openDatabases } from '../../daemon/db/databases.ts'
import { createSender } from '../../daemon/models/anthropic.ts'
import { createLedger } from '../../daemon/models/budget.ts'
import { createModel } from '../../daemon/models/models.ts'
import { createClock } from '../../daemon/platform/clock.ts'

const [stateDir = '', url = '', usdPerDay = '0'] = process.argv.slice(2)
const clock = createClock()
const store = openDatabases(stateDir, clock.now())
const model = createModel({
  env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'test-key' },
  settings: () => ({
    model: { baseUrl: null, apiKeyFile: null, apiKeyCommand: null, idleSeconds: 60 },
    budget: { usdPerDay: Number(usdPerDay), tokensPerDay: 1_000_000 },
    // A dollar for a thousand tokens.
    models: { 'claude-haiku-5-5': { prices: [{ input: 1_000, output: 1_000 }] } },
  }),
  ledger: createLedger(store.history),
  send: createSender({ clock }),
  clock,
  redact: async (text) => ({ text }),
  onTrouble: () => {},
  onModeChange: () => {},
})
const answer = await model.provider({ job: 'dream' }).call(
  {
    model: 'claude-haiku-5-5',
    system: [],
    tools: [],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello.' }] }],
    maxTokens: 900,
  },
  { signal: new AbortController().signal },
)
process.stdout.write(`${JSON.stringify(answer)}\n`)
store.close()
