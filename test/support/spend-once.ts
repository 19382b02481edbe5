/** A process that asks a model once and says what became of it: to be killed at any time. */

import type { Core } from '../../daemon/core.ts'
import { openDatabases } from '../../daemon/db/databases.ts'
import { createModels } from '../../daemon/models/models.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { createEvents } from '../../daemon/platform/events.ts'
import { createHealth } from '../../daemon/platform/health.ts'

const [stateDir = '', url = '', usdPerDay = '0'] = process.argv.slice(2)
const clock = createClock()
const settings = {
  current: () => ({
    model: { baseUrl: null, apiKeyFile: null, apiKeyCommand: null, idleSeconds: 60 },
    budget: { usdPerDay: Number(usdPerDay), tokensPerDay: 1_000_000 },
    // A dollar for a thousand tokens.
    models: { 'claude-haiku-5-5': { prices: [{ input: 1_000, output: 1_000 }] } },
  }),
}
const health = createHealth(clock, createEvents(clock))
const db = openDatabases(stateDir, clock.now())
const env = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'test-key' }
const model = createModels({ env, settings, health, clock, db } as unknown as Core)
const answer = await model
  .provider({ job: 'dream' })
  .call(
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
db.close()
