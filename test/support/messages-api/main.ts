/**
 * The scripted server by hand, for a look at online mode without a key: `npm run messages-api -- [port]`. It answers
 * every request with one sentence and prints what it was asked.
 */
import { usualModels } from './admission.ts'
import { says } from './answers.ts'
import { createMessagesApi } from './server.ts'

const port = Number(process.argv[2] ?? 8787)
const key = 'scripted'
const api = await createMessagesApi({
  port,
  keys: [key],
  models: usualModels,
  now: Date.now,
  script: ({ body }) => {
    const tools = (body.tools ?? []).map(({ name }) => name).join(', ') || 'none'
    console.log(`${body.model}: ${body.messages.length} messages, tools: ${tools}`)
    return says('Nothing to add.')
  },
})
console.log(`a scripted Messages API answers at ${api.url}; Ctrl-C ends it
  ANTHROPIC_BASE_URL=${api.url} ANTHROPIC_API_KEY=${key} npx memoryd restart`)
