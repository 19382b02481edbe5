/** The real Claude Code: installed into a folder of its own, run in a temporary HOME against a scripted model. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Home } from '../support/home.ts'
import { type Installed, install } from './install.ts'
import { run } from './run.ts'
import type { ModelRequest, ScriptedModel } from './scripted-model.ts'

export function installClaude(): Promise<Installed> {
  return install({ name: '@anthropic-ai/claude-code', version: '2.1.325', program: /^claude-code-[^/]+\/claude$/ })
}

export type RunOptions = {
  cwd: string
  prompt: string
  /** A session that goes on; else a new one. */
  resume?: string
  env?: Record<string, string>
  allowedTools?: string
}

/** One prompt in print mode. Gives what the model was asked, the first request first. */
export async function runClaude(
  program: string,
  { home, model }: { home: Home; model: ScriptedModel },
  { cwd, prompt, resume, env = {}, allowedTools = 'Write' }: RunOptions,
): Promise<ModelRequest[]> {
  const from = model.requests.length
  const session = resume === undefined ? ['--session-id', randomUUID()] : ['--resume', resume]
  await run(home, {
    program,
    args: ['-p', prompt, ...session, `--allowedTools=${allowedTools}`],
    cwd,
    env: {
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY: 'test',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      DISABLE_AUTOUPDATER: '1',
      CLAUDE_CODE_TMPDIR: join(home.dir, 'tmp'),
      ...env,
    },
  })
  return model.requests.slice(from)
}

export function systemOf({ system = '' }: ModelRequest): string {
  return typeof system === 'string' ? system : system.map(({ text }) => text).join('\n')
}

export function wordsOf({ messages }: ModelRequest): string {
  const texts = messages.flatMap(({ content }) =>
    typeof content === 'string' ? [content] : content.flatMap(({ text }) => (text === undefined ? [] : [text])),
  )
  return texts.join('\n')
}

/** The memory directory that a request names, if any. */
export function memoryDirIn(request: ModelRequest): string | undefined {
  return /file-based memory at `([^`]+)\/`/.exec(systemOf(request))?.[1]
}
