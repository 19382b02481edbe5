/**
 * A harness in a hundred lines: an agent loop over the Messages API that never minds its window, because `fit` does. Run
 * against the scripted server: `npm run messages-api`, then `node dist/client/examples/harness.js http://127.0.0.1:8787 scripted`
 */
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { pathToFileURL } from 'node:url'
import { type Client, connect, type FitStep } from '../index.ts'

type Block = { type: string; [field: string]: unknown }
type Message = { role: 'user' | 'assistant'; content: string | Block[] }
type Usage = { input_tokens: number; output_tokens: number }

export type Tool = { description: string; run: (input: Record<string, unknown>) => Promise<string> }

export type HarnessOptions = {
  api: { baseUrl: string; key: string; model: string }
  memory: Pick<Client, 'fit'>
  sessionId: string
  tools: Record<string, Tool>
  cwd: string
  onFit?: (did: FitStep[]) => void
}

const MAX_TOKENS = 8_000

export function createHarness({ api, memory, sessionId, tools, cwd, onFit }: HarnessOptions) {
  let messages: Message[] = []
  let usage: Usage | undefined

  /** Everything before a request is this: the messages as they are go in, messages that fit come out. */
  const ask = async (): Promise<Block[]> => {
    const fitted = await memory.fit({ sessionId, model: api.model, messages, cwd, ...(usage && { usage }) })
    messages = fitted.messages
    if (fitted.did.length > 0) onFit?.(fitted.did)
    const response = await fetch(`${api.baseUrl}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': api.key, 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({
        model: api.model,
        max_tokens: MAX_TOKENS,
        system: 'You are an agent that works with tools.',
        tools: Object.entries(tools).map(([name, { description }]) => ({
          name,
          description,
          input_schema: { type: 'object' },
        })),
        messages,
      }),
    })
    const answer = (await response.json()) as { content: Block[]; usage: Usage; error?: { message: string } }
    if (!response.ok) throw new Error(`${response.status} ${answer.error?.message}`)
    usage = answer.usage
    messages = [...messages, { role: 'assistant', content: answer.content }]
    return answer.content
  }

  const runTool = async ({ id, name, input }: Block): Promise<Block> => {
    const tool = tools[String(name)]
    try {
      if (!tool) throw new Error(`there is no tool ${name}`)
      return { type: 'tool_result', tool_use_id: id, content: await tool.run(input as Record<string, unknown>) }
    } catch (error) {
      return { type: 'tool_result', tool_use_id: id, content: String(error), is_error: true }
    }
  }

  return {
    say: async (text: string): Promise<string> => {
      messages = [...messages, { role: 'user', content: text }]
      for (;;) {
        const content = await ask()
        const calls = content.filter(({ type }) => type === 'tool_use')
        if (calls.length === 0) return content.map((block) => block.text ?? '').join('')
        messages = [...messages, { role: 'user', content: await Promise.all(calls.map(runTool)) }]
      }
    },
  }
}

async function main([baseUrl, key = '', model = 'claude-haiku-5-5']: string[]): Promise<void> {
  if (!baseUrl) throw new Error('usage: harness.js <base url> <key> [model]')
  const memory = connect({ actor: 'agent:example' })
  const Read = {
    description: 'Reads a file: {"path": …}',
    run: ({ path }: Record<string, unknown>) => readFile(String(path), 'utf8'),
  }
  const session = { sessionId: `example-${process.pid}`, cwd: process.cwd(), tools: { Read } }
  const onFit = (did: FitStep[]) => console.log('(made to fit:', did.map(({ step }) => step).join(', '), ')')
  const harness = createHarness({ api: { baseUrl, key, model }, memory, ...session, onFit })
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  for await (const line of terminal) if (line.trim() !== '') console.log(await harness.say(line))
  memory.close()
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main(process.argv.slice(2))
