/**
 * The scripted server by hand, for a look at online mode without a key: `npm run messages-api -- [port] [ms]`. It answers
 * every request with one sentence, so many milliseconds later, and prints what it was asked.
 */
import { usualModels } from './admission.ts'
import { says } from './answers.ts'
import { createMessagesApi } from './server.ts'

const port = Number(process.argv[2] ?? 8787)
const takesMs = Number(process.argv[3] ?? 0)
const PINGS = 10
const key = 'scripted'
const api = await createMessagesApi({
  port,
  keys: [key],
  models: usualModels,
  now: Date.now,
  script: ({ body }) => {
    const tools = (body.tools ?? []).map(({ name }) => name).join(', ') || 'none'
    console.log(`${body.model}: ${body.messages.length} messages, tools: ${tools}`)
    const said = says('Nothing to add.')
    return takesMs === 0 ? said : { fault: 'slow', of: said, everyMs: takesMs / PINGS, pings: PINGS }
  },
})
console.log(`a scripted Messages API answers at ${api.url}; Ctrl-C ends it
  ANTHROPIC_BASE_URL=${api.url} ANTHROPIC_API_KEY=${key} npx memoryd restart`)
