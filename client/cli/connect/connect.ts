/** `memoryd connect` and `disconnect`: our hooks into the settings of a harness, and out again. */
import { existsSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { MemoryError } from '../../../schema/errors.ts'
import { HOOK_MARK } from '../../../schema/hook.ts'
import { type Context, refuseNoFolder } from '../context.ts'
import { cliMain, hookScript, quoted, shellWord } from '../installation.ts'
import { createConnections, hashOf, type KnownConnection, lost } from './connections.ts'
import { addHooks, boundFor, type Events, hasHooks, Misshapen, removeHooks, splitMark } from './hook-settings.ts'
import { JsoncError } from './jsonc.ts'
import { lineDiff } from './line-diff.ts'
import { piExtension } from './pi-extension.ts'
import { deepestFolder, readSettings, removeSettings, replaceSettings, sweepBeside } from './settings-file.ts'

type Harness = 'claude-code' | 'codex' | 'gemini' | 'pi'
export type ConnectOptions = { project?: string | true; mail?: boolean; dryRun?: boolean }

export function connectHarness(context: Context, harness: Harness, options: ConnectOptions): void {
  const { print, places, self } = context
  const project = projectFolder(options)
  if (project !== undefined) refuseNoFolder(project)
  const target = targetOf(harness, context, project, { mail: options.mail, bound: boundFor(context.env) })
  const connections = createConnections(places.stateDir)
  const file = readSettings(target.file)
  const known = connections.of(target.file)
  const clean = withoutUs(file, known, target)
  const { text, pieces } = withUs(clean, target)
  if (text === file.text) {
    const lines = [`${harness} is connected already: ${target.file}`, ...target.remarks]
    return void print.result({ harness, file: target.file, changed: false }, () => lines)
  }
  const isNew = file.text === undefined
  const backup = clean === undefined ? undefined : connections.backupOf(target.file, clean)
  if (!options.dryRun) {
    const connection = {
      harness,
      file: target.file,
      at: new Date().toISOString(),
      made: clean === undefined,
      folder: isNew ? deepestFolder(file.path) : (known?.folder ?? ''),
      pieces,
      hash: hashOf(text),
    }
    replaceSettings(file, text, () => connections.keep(connection, clean))
  }
  const diff = lineDiff(file.text ?? '', text)
  print.result({ harness, file: target.file, changed: !options.dryRun, backup, diff }, () =>
    options.dryRun
      ? [`this would be changed in ${target.file}:`, ...diff]
      : [
          `connected ${harness}: ${isNew ? 'made' : 'changed'} ${target.file}`,
          ...(backup ? [`as it was before: ${backup}`] : []),
          ...target.remarks,
          `to undo it: ${self} disconnect ${harness}${project === undefined ? '' : ` --project ${shellWord(project)}`}`,
        ],
  )
}

export function disconnectHarness(context: Context, harness: Harness, options: ConnectOptions): void {
  const project = projectFolder(options)
  const target = targetOf(harness, context, project)
  const connections = createConnections(context.places.stateDir)
  // A connection of a project that is gone can still be forgotten.
  if (project !== undefined && !connections.of(target.file)) refuseNoFolder(project)
  const { before, after } = disconnectFile(connections, target.file, { ...options, target })
  const diff = lineDiff(before ?? '', after ?? '')
  const isThere = before !== after
  context.print.result({ harness, file: target.file, changed: isThere && !options.dryRun, diff }, () => {
    if (!isThere) return [`${harness} was not connected: nothing of ours is in ${target.file}`]
    if (options.dryRun) return [`this would be changed in ${target.file}:`, ...diff]
    return [`disconnected ${harness}: ${after === undefined ? 'removed' : 'changed'} ${target.file}`]
  })
}

export function disconnectAll(context: Context): { files: string[]; failed: string[] } {
  const connections = createConnections(context.places.stateDir)
  const files: string[] = []
  const failed: string[] = []
  for (const { file } of connections.all()) {
    try {
      const { before, after } = disconnectFile(connections, file, {})
      if (before !== after) files.push(file)
    } catch (error) {
      failed.push((error as Error).message)
    }
  }
  return { files, failed }
}

type Connections = ReturnType<typeof createConnections>
type Leaving = { dryRun?: boolean; target?: Target }

function disconnectFile(connections: Connections, path: string, { dryRun, target }: Leaving) {
  const file = readSettings(path)
  const known = connections.of(path)
  const after = withoutUs(file, known, target)
  if (dryRun) return { before: file.text, after }
  if (after === undefined && file.text !== undefined) removeSettings(file, known?.folder ?? path)
  else if (after !== undefined && after !== file.text) replaceSettings(file, after)
  connections.drop(path)
  connections.sweep()
  sweepBeside(path)
  return { before: file.text, after }
}

function projectFolder({ project }: ConnectOptions): string | undefined {
  return project === true ? repositoryOf(process.cwd()) : project && resolve(project)
}

type Found = ReturnType<typeof readSettings>

/** As it was before us: undefined if we made the file and no other program wrote to it. */
function withoutUs({ path, text }: Found, known?: KnownConnection, target?: Target): string | undefined {
  if (text === undefined) return undefined
  if (known && known.before !== lost && hashOf(text) === known.hash) return known.before
  if (!path.endsWith('.json')) {
    if (!text.includes(HOOK_MARK)) return text
    if (target && 'whole' in target.holds && target.holds.whole === text) return undefined
    throw new MemoryError('REFUSED', `${path} is not as memoryd left it; nothing was changed`, {
      reason: 'path',
      hint: 'delete it yourself if you want nothing of it',
    })
  }
  return explained(path, () => {
    const [mark, settings] = splitMark(text)
    if (!hasHooks(settings)) return text
    if (!known || known.before === lost) return mark + removeHooks(settings)
    return mark + removeHooks(settings, { before: splitMark(known.before ?? '')[1], pieces: known.pieces })
  })
}

function withUs(clean: string | undefined, { file, holds }: Target): ReturnType<typeof addHooks> {
  if ('whole' in holds) {
    if (clean === undefined) return { text: holds.whole, pieces: [] }
    throw new MemoryError('REFUSED', `${file} is there already and not of ours; nothing was changed`, {
      reason: 'path',
      hint: 'move it away, then connect again',
    })
  }
  return explained(file, () => {
    const [mark, settings] = splitMark(clean ?? '')
    const { text, pieces } = addHooks(settings, holds.events)
    return { text: mark + text, pieces }
  })
}

function explained<T>(file: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    if (error instanceof JsoncError)
      throw new MemoryError('REFUSED', `${file}:${error.line}:${error.column}: ${error.message}; nothing was changed`, {
        reason: 'shape',
        hint: 'correct it there, then try again',
      })
    if (error instanceof Misshapen)
      throw new MemoryError('REFUSED', `${file}: ${error.message}; nothing was changed`, { reason: 'shape' })
    throw error
  }
}

type Target = { file: string; holds: { events: Events } | { whole: string }; remarks: string[] }

/** The command itself ends after half a second; a busy machine may take longer to start its shell. */
const SECONDS = 5

export function hookCommand(harness: string, socket: string, bound = ''): string {
  return `${bound}sh ${quoted(hookScript)} ${harness} ${quoted(socket)} 2>/dev/null || :`
}

const CLAUDE_EVENTS = ['SessionStart', 'UserPromptSubmit', 'Stop', 'SubagentStop', 'PreCompact', 'SessionEnd']
const GEMINI_EVENTS = ['SessionStart', 'BeforeAgent', 'AfterAgent', 'PreCompress', 'SessionEnd']

/** `bound`: what has to stand before the command, so that it ends in time. */
type Wanted = { mail?: boolean | undefined; bound?: string }

/** Where the harness keeps its settings, in the project or for the user, and what of ours belongs there. Touches nothing. */
function targetOf(harness: Harness, context: Context, project?: string, { mail, bound }: Wanted = {}): Target {
  const { env, places } = context
  const command = hookCommand(harness, places.socketPath, bound)
  const events = (names: string[], mailEvent: string, more: object): Target['holds'] => {
    const hook = { type: 'command', command, ...more }
    return {
      events: Object.fromEntries([...names, ...(mail ? [mailEvent] : [])].map((name) => [name, { hooks: [hook] }])),
    }
  }
  const folder = (ofProject: string, variable: string, ...ofUser: string[]) => {
    if (project) return join(project, ofProject)
    const value = env[variable] || join(places.home, ...ofUser)
    if (isAbsolute(value)) return value
    throw new MemoryError('SETUP', `${variable} must be an absolute path, got ${JSON.stringify(value)}`, {
      hint: 'use an absolute path; memoryd cannot know what the harness resolves a relative one against',
    })
  }
  switch (harness) {
    case 'claude-code': {
      const name = project ? 'settings.local.json' : 'settings.json'
      return {
        file: join(folder('.claude', 'CLAUDE_CONFIG_DIR', '.claude'), name),
        holds: events(CLAUDE_EVENTS, 'PostToolUse', { timeout: SECONDS }),
        remarks: project
          ? ['settings.local.json is yours alone; settings.json would be for everybody in the project']
          : [],
      }
    }
    case 'codex':
      return {
        file: join(folder('.codex', 'CODEX_HOME', '.codex'), 'hooks.json'),
        holds: events(CLAUDE_EVENTS, 'PostToolUse', { timeout: SECONDS }),
        remarks: [
          'Codex runs new hooks only once you trust them: start codex and agree in its own dialog (/hooks shows them)',
        ],
      }
    case 'gemini':
      return {
        file: join(project ?? places.home, '.gemini', 'settings.json'),
        holds: events(GEMINI_EVENTS, 'AfterTool', { name: 'memoryd', timeout: SECONDS * 1_000 }),
        remarks: [],
      }
    case 'pi':
      return {
        file: join(folder('.pi', 'PI_CODING_AGENT_DIR', '.pi', 'agent'), 'extensions', 'memoryd.ts'),
        holds: { whole: piExtension(places.socketPath) },
        remarks: mail ? ['pi gets mail with its prompts only'] : [],
      }
  }
}

function repositoryOf(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return at
    if (at === dirname(at)) return folder
  }
}

const CLI_OF = {
  'Claude Code': ['claude', '--scope user ', '-- '],
  Codex: ['codex', '', '-- '],
  'Gemini CLI': ['gemini', '--scope user ', ''],
} as const

/** How each harness is told of the MCP server. They rewrite their own files, so nothing is changed here. */
export function showMcp({ print }: Context): void {
  const server = { command: process.execPath, args: [cliMain, 'mcp'] }
  const words = [server.command, ...server.args].map(shellWord).join(' ')
  const config = JSON.stringify({ mcpServers: { memoryd: server } }, null, 2)
  print.result({ mcpServers: { memoryd: server } }, () => [
    ...Object.entries(CLI_OF).flatMap(([name, [cli, scope, end]]) => [
      `${name}:`,
      `  ${cli} mcp add ${scope}memoryd ${end}${words}`,
    ]),
    'Any other, in its own configuration (.mcp.json, mcp.json or the like):',
    ...config.split('\n').map((line) => `  ${line}`),
  ])
}

export function forgetMcp({ print }: Context): void {
  print.result({ changed: false }, () =>
    Object.entries(CLI_OF).flatMap(([name, [cli, scope]]) => [`${name}:`, `  ${cli} mcp remove ${scope}memoryd`]),
  )
}
