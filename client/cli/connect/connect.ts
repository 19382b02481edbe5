/** `memoryd connect` and `disconnect`: our hooks into the settings of a harness, and out again. */
import { existsSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { MemoryError } from '../../../schema/errors.ts'
import { HOOK_MARK } from '../../../schema/hook.ts'
import type { Context } from '../context.ts'
import { cliMain, hookScript, quoted, shellWord } from '../installation.ts'
import { addHooks, apart, boundFor, type Events, hasHooks, Misshapen, removeHooks } from './hook-settings.ts'
import { JsoncError } from './jsonc.ts'
import { createNoted, hashOf, lost, type Noted } from './noted.ts'
import { piExtension } from './pi-extension.ts'
import type { Piece } from './pieces.ts'
import {
  deepestFolder,
  draftSettings,
  lineDiff,
  readSettings,
  removeSettings,
  replaceSettings,
  type SettingsFile,
  sweepBeside,
} from './settings-file.ts'

export type ConnectOptions = { project?: string | true; mail?: boolean; dryRun?: boolean }

type Harness = Exclude<Connectable, 'mcp'>

export function connectHarness(context: Context, harness: Harness, options: ConnectOptions): void {
  const { print, places, self } = context
  const wanted = wantedOf(options)
  if (wanted.project !== undefined) refuseNoFolder(wanted.project)
  const target = targetOf(harness, context, { ...wanted, bound: boundFor(context.env) })
  const noted = createNoted(places.stateDir)
  const file = readSettings(target.file)
  const known = noted.of(target.file)
  const clean = withoutUs(file, known, target)
  const { text, pieces } = withUs(clean, target)
  if (text === file.text) {
    print.result({ harness, file: target.file, changed: false }, () => [
      `${harness} is connected already: ${target.file}`,
      ...target.remarks,
    ])
    return
  }
  const isNew = file.text === undefined
  const backup = clean === undefined ? undefined : noted.backupOf(target.file, clean)
  if (!options.dryRun) {
    const note: Noted = {
      harness,
      file: target.file,
      at: new Date().toISOString(),
      made: clean === undefined,
      folder: isNew ? deepestFolder(file.path) : (known?.folder ?? ''),
      pieces,
      hash: hashOf(text),
      before: clean,
    }
    putIn(file, text, () => noted.keep(note))
  }
  const diff = lineDiff(file.text ?? '', text)
  const result = { harness, file: target.file, changed: !options.dryRun, ...(backup && { backup }), diff }
  print.result(result, () =>
    options.dryRun
      ? [`this would be changed in ${target.file}:`, ...diff]
      : [
          `connected ${harness}: ${isNew ? 'made' : 'changed'} ${target.file}`,
          ...(backup ? [`as it was before: ${backup}`] : []),
          ...target.remarks,
          `to undo it: ${self} disconnect ${harness}${wanted.project === undefined ? '' : ` --project ${shellWord(wanted.project)}`}`,
        ],
  )
}

/** The new text is whole on the disk before anything is noted, and noted before it takes its place. */
function putIn(file: SettingsFile, text: string, note: () => () => void): void {
  const draft = draftSettings(file, text)
  try {
    const takeBack = note()
    try {
      draft.place()
    } catch (error) {
      takeBack()
      throw error
    }
  } finally {
    draft.discard()
  }
}

export function disconnectHarness(context: Context, harness: Harness, options: ConnectOptions): void {
  const wanted = wantedOf(options)
  const target = targetOf(harness, context, wanted)
  const noted = createNoted(context.places.stateDir)
  // Of a project that is gone nothing is left but our note.
  if (wanted.project !== undefined && !noted.of(target.file)) refuseNoFolder(wanted.project)
  const { before, after } = disconnectFile(noted, target.file, { ...options, target })
  const diff = lineDiff(before ?? '', after ?? '')
  const isThere = before !== after
  context.print.result({ harness, file: target.file, changed: isThere && !options.dryRun, diff }, () => {
    if (!isThere) return [`${harness} was not connected: nothing of ours is in ${target.file}`]
    if (options.dryRun) return [`this would be changed in ${target.file}:`, ...diff]
    return [`disconnected ${harness}: ${after === undefined ? 'removed' : 'changed'} ${target.file}`]
  })
}

/** All that was ever connected. Returns the files that were changed, and why others could not be. */
export function disconnectAll(context: Context): { files: string[]; failed: string[] } {
  const noted = createNoted(context.places.stateDir)
  const files: string[] = []
  const failed: string[] = []
  for (const { file } of noted.all()) {
    try {
      const { before, after } = disconnectFile(noted, file, {})
      if (before !== after) files.push(file)
    } catch (error) {
      failed.push((error as Error).message)
    }
  }
  return { files, failed }
}

function disconnectFile(
  noted: ReturnType<typeof createNoted>,
  path: string,
  { dryRun, target }: Pick<ConnectOptions, 'dryRun'> & { target?: Target },
) {
  const file = readSettings(path)
  const known = noted.of(path)
  const after = withoutUs(file, known, target)
  if (!dryRun && after !== file.text) {
    if (after === undefined) removeSettings(file, known?.folder ?? path)
    else replaceSettings(file, after)
  }
  if (!dryRun) {
    noted.drop(path)
    noted.sweep()
    sweepBeside(path)
  }
  return { before: file.text, after }
}

function wantedOf({ project, mail = false }: ConnectOptions) {
  const folder = project === true ? projectOf(process.cwd()) : project === undefined ? undefined : resolve(project)
  return { project: folder, mail }
}

function refuseNoFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return
  throw new MemoryError('REFUSED', `there is no folder ${folder}; nothing was changed`, {
    reason: 'path',
    hint: 'give --project the folder of a project, or run it there without one',
  })
}

/** As it was before us: undefined if we made the file and no other program wrote to it. */
function withoutUs(file: SettingsFile, known: Noted | undefined, target: Target | undefined): string | undefined {
  const { text, path } = file
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
    const [mark, settings] = apart(text)
    if (!hasHooks(settings)) return text
    const { before = '', pieces = [] as Piece[] } = known ?? { before: lost }
    return mark + removeHooks(settings, before === lost ? undefined : { before: apart(before)[1], pieces })
  })
}

function withUs(clean: string | undefined, { file, holds }: Target): { text: string; pieces: Piece[] } {
  if ('whole' in holds) {
    if (clean === undefined) return { text: holds.whole, pieces: [] }
    throw new MemoryError('REFUSED', `${file} is there already and not of ours; nothing was changed`, {
      reason: 'path',
      hint: 'move it away, then connect again',
    })
  }
  return explained(file, () => {
    const [mark, settings] = apart(clean ?? '')
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

/** `memoryd connect mcp`: how each harness is told of the MCP server. Their files are rewritten by themselves: nothing is changed. */

export function showMcp({ print }: Context): void {
  const server = { command: process.execPath, args: [cliMain, 'mcp'] }
  const words = [server.command, ...server.args].map(shellWord).join(' ')
  const config = JSON.stringify({ mcpServers: { memoryd: server } }, null, 2)
  print.result({ mcpServers: { memoryd: server } }, () => [
    'Claude Code:',
    `  claude mcp add --scope user memoryd -- ${words}`,
    'Codex:',
    `  codex mcp add memoryd -- ${words}`,
    'Gemini CLI:',
    `  gemini mcp add --scope user memoryd ${words}`,
    'Any other, in its own configuration (.mcp.json, mcp.json or the like):',
    ...config.split('\n').map((line) => `  ${line}`),
  ])
}

export function forgetMcp({ print }: Context): void {
  print.result({ changed: false }, () => [
    'Claude Code:',
    '  claude mcp remove --scope user memoryd',
    'Codex:',
    '  codex mcp remove memoryd',
    'Gemini CLI:',
    '  gemini mcp remove --scope user memoryd',
  ])
}

/** Where each harness keeps its settings, and what of ours belongs there. Decides; touches nothing. */

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
