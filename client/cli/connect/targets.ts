/** Where each harness keeps its settings, and what of ours belongs there. Decides; touches nothing. */
import { existsSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { MemoryError } from '../../../schema/errors.ts'
import type { Context } from '../context.ts'
import { hookScript, quoted } from '../installation.ts'
import type { Events } from './hook-settings.ts'
import { piExtension } from './pi-extension.ts'

export const connectable = ['claude-code', 'codex', 'gemini', 'pi', 'mcp'] as const
export type Connectable = (typeof connectable)[number]

export type Wanted = {
  /** Of a project, where given; else of the user. */
  project: string | undefined
  mail: boolean
  /** What has to stand before the command, so that it ends in time. */
  bound?: string
}

export type Target = {
  file: string
  /** Hooks among other settings, or a file that is ours alone. */
  holds: { events: Events } | { whole: string }
  /** What a person should know about it. */
  remarks: string[]
}

/** The command is over after half a second; who waits longer waits for a shell that cannot begin. */
const SECONDS = 5

export function hookCommand(harness: string, socket: string, bound = ''): string {
  return `${bound}sh ${quoted(hookScript)} ${harness} ${quoted(socket)} 2>/dev/null || :`
}

const CLAUDE_EVENTS = ['SessionStart', 'UserPromptSubmit', 'Stop', 'SubagentStop', 'PreCompact', 'SessionEnd']
const GEMINI_EVENTS = ['SessionStart', 'BeforeAgent', 'AfterAgent', 'PreCompress', 'SessionEnd']

export function targetOf(harness: Exclude<Connectable, 'mcp'>, context: Context, wanted: Wanted): Target {
  const { env, places } = context
  const { project, mail, bound } = wanted
  const { home } = places
  const command = hookCommand(harness, places.socketPath, bound)
  const events = (names: string[], hook: object): Events =>
    Object.fromEntries(names.map((name) => [name, { hooks: [{ type: 'command', command, ...hook }] }]))
  const own = (name: string, ...otherwise: string[]) => {
    const value = env[name] || join(home, ...otherwise)
    if (isAbsolute(value)) return value
    throw new MemoryError('SETUP', `${name} must be an absolute path, got ${JSON.stringify(value)}`, {
      hint: 'from where it counts, only the harness knows',
    })
  }
  switch (harness) {
    case 'claude-code':
      return {
        file: project
          ? join(project, '.claude', 'settings.local.json')
          : join(own('CLAUDE_CONFIG_DIR', '.claude'), 'settings.json'),
        holds: { events: events([...CLAUDE_EVENTS, ...(mail ? ['PostToolUse'] : [])], { timeout: SECONDS }) },
        remarks: project
          ? ['settings.local.json is yours alone; settings.json would be for everybody in the project']
          : [],
      }
    case 'codex':
      return {
        file: project ? join(project, '.codex', 'hooks.json') : join(own('CODEX_HOME', '.codex'), 'hooks.json'),
        holds: { events: events([...CLAUDE_EVENTS, ...(mail ? ['PostToolUse'] : [])], { timeout: SECONDS }) },
        remarks: [
          'Codex runs new hooks only once you trust them: start codex and agree in its own dialog (/hooks shows them)',
        ],
      }
    case 'gemini':
      return {
        file: join(project ?? home, '.gemini', 'settings.json'),
        holds: {
          events: events([...GEMINI_EVENTS, ...(mail ? ['AfterTool'] : [])], {
            name: 'memoryd',
            timeout: SECONDS * 1_000,
          }),
        },
        remarks: [],
      }
    case 'pi':
      return {
        file: project
          ? join(project, '.pi', 'extensions', 'memoryd.ts')
          : join(own('PI_CODING_AGENT_DIR', '.pi', 'agent'), 'extensions', 'memoryd.ts'),
        holds: { whole: piExtension(places.socketPath) },
        remarks: mail ? ['pi gets mail with its prompts only'] : [],
      }
  }
}

/** The repository a folder is in, or the folder itself. */
export function projectOf(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return at
    if (at === dirname(at)) return folder
  }
}
