/** The real Claude Code: installed into a folder of its own, run in a temporary HOME against a scripted model. */
import { execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Home } from '../support/home.ts'
import type { ModelRequest, ScriptedModel } from './scripted-model.ts'

const PACKAGE = '@anthropic-ai/claude-code@2.1.325'
const INSTALL_MS = 300_000
const RUN_MS = 90_000

export type Installed = { program: string; remove(): void } | { missing: string }

/** Without its install step, which only copies the program that we call by its own path. */
export async function installClaude(): Promise<Installed> {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-claude-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  const args = ['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund', '--ignore-scripts', PACKAGE]
  const failed = await new Promise<string | undefined>((resolve) =>
    execFile('npm', args, { timeout: INSTALL_MS, cwd: folder }, (error, _stdout, stderr) =>
      resolve(error ? stderr.trim().split('\n').slice(-3).join(' ') || error.message : undefined),
    ),
  )
  const scope = join(folder, 'node_modules', '@anthropic-ai')
  const program = (existsSync(scope) ? readdirSync(scope) : [])
    .map((name) => join(scope, name, 'claude'))
    .find((path) => existsSync(path))
  if (program && failed === undefined) return { program, remove }
  remove()
  return { missing: `${PACKAGE} cannot be installed here: ${failed ?? 'it has no program for this system'}` }
}

export type RunOptions = { cwd: string; prompt: string; env?: Record<string, string>; allowedTools?: string }

/** One prompt in print mode. Gives what the model was asked, the first request first. */
export async function runClaude(
  program: string,
  { home, model }: { home: Home; model: ScriptedModel },
  { cwd, prompt, env = {}, allowedTools = 'Write' }: RunOptions,
): Promise<ModelRequest[]> {
  const temporary = join(home.dir, 'tmp')
  mkdirSync(temporary, { recursive: true })
  const from = model.requests.length
  const child = spawn(program, ['-p', prompt, '--session-id', randomUUID(), `--allowedTools=${allowedTools}`], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: RUN_MS,
    killSignal: 'SIGKILL',
    env: {
      ...home.env,
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY: 'test',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      DISABLE_AUTOUPDATER: '1',
      TMPDIR: temporary,
      CLAUDE_CODE_TMPDIR: temporary,
      ...env,
    } as NodeJS.ProcessEnv,
  })
  let said = ''
  for (const output of [child.stdout, child.stderr])
    output.on('data', (chunk) => {
      said += chunk
    })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code !== 0) throw new Error(`claude ended with ${code}: ${said.slice(-2_000)}`)
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
