/** Where the memories of a project or of a type of sub-agent are, and whether memory is on there. Refuses unsafe places. */
import { realpathSync } from 'node:fs'
import { isAbsolute, join, normalize } from 'node:path'
import { z } from 'zod'
import { callerVariables } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { AgentScope } from '../../schema/memory.ts'
import type { Environment } from '../../schema/rendezvous.ts'
import { parseJson } from '../platform/json.ts'
import { safeId } from '../platform/text.ts'
import { createProbe, type Probe, type ProjectRoot, trackingOf } from './paths.ts'

export type MemoryDir = { dir: string; source: 'override' | 'policy' | 'local' | 'user' | 'default' }

export type MemoryDirFacts = { root: string; home: string; variables: Variables; settings: ClaudeSettings }

const named: Record<MemoryDir['source'], string> = {
  override: 'CLAUDE_COWORK_MEMORY_PATH_OVERRIDE',
  policy: 'autoMemoryDirectory in policy settings',
  local: 'autoMemoryDirectory in local settings',
  user: 'autoMemoryDirectory in user settings',
  default: 'CLAUDE_CODE_REMOTE_MEMORY_DIR or CLAUDE_CONFIG_DIR',
}

export function chooseMemoryDir(facts: MemoryDirFacts): MemoryDir {
  const { path, source } = firstNamed(facts)
  const isUpward = source === 'override' && path.split('/').includes('..')
  const problem = problemOf(path, facts.home) ?? (isUpward ? 'has .. in it' : undefined)
  if (problem) throw refusal(path, source, problem)
  return { dir: tidy(path), source }
}

/** `target` is what the chosen place resolves to on disk, if that can be told. */
export function refuseLinked({ dir, source }: MemoryDir, target: string | undefined, home: string): void {
  if (target === undefined) throw refusal(dir, source, 'cannot be resolved')
  const problem = target === dir ? undefined : problemOf(target, home)
  if (problem) throw refusal(dir, source, `leads to ${shown(target)}, which ${problem}`)
}

/** A directory that was chosen once may have become a link to any other. */
export function isMemoryPlace(dir: string, home: string): boolean {
  try {
    const target = realpathSync(dir)
    return isAgentDir(dir) ? target === dir : problemOf(target, home) === undefined
  } catch {
    return false
  }
}

export function configDirOf(variables: Variables, home: string): string {
  return variables.CLAUDE_CONFIG_DIR ?? join(home, '.claude')
}

function firstNamed({ root, home, variables, settings }: MemoryDirFacts) {
  const override = variables.CLAUDE_COWORK_MEMORY_PATH_OVERRIDE
  if (override !== undefined) return { path: override, source: 'override' as const }
  for (const source of ['policy', 'local', 'user'] as const) {
    const path = settings[source].autoMemoryDirectory
    if (path !== undefined) return { path: path.startsWith('~/') ? `${home}/${path.slice(2)}` : path, source }
  }
  const base = variables.CLAUDE_CODE_REMOTE_MEMORY_DIR ?? configDirOf(variables, home)
  return { path: `${base}/projects/${slugOf(root)}/memory`, source: 'default' as const }
}

export function problemOf(path: string, home: string): string | undefined {
  if (path.includes('\0')) return 'holds a NUL byte'
  if (/^[A-Za-z]:[\\/]*$/.test(path)) return 'is a drive root'
  if (/^(\\\\|\/\/)/.test(path)) return 'is a network path'
  if (!isAbsolute(path)) return 'is relative'
  const place = tidy(path)
  if (place.split('/').filter(Boolean).length < 2) return 'is the root or one level below it'
  // Every markdown file in there would count as a memory.
  if (`${tidy(home)}/`.startsWith(`${place}/`)) return 'is your home directory or holds it'
  return undefined
}

function tidy(path: string): string {
  return normalize(path)
    .normalize('NFC')
    .replace(/(.)\/+$/, '$1')
}

function refusal(path: string, source: MemoryDir['source'], problem: string): MemoryError {
  return new MemoryError('REFUSED', `the memory directory ${shown(path)} ${problem}`, {
    reason: 'path',
    hint: `${named[source]} must name an absolute path, at least two levels below the root`,
  })
}

function shown(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path)
}

const LONGEST_SLUG = 200

/** A path as Claude Code spells it in a folder name: nothing is normalised, and two paths may share a slug. */
export function slugOf(path: string): string {
  const slug = path.replace(/[^A-Za-z0-9]/g, '-')
  if (slug.length <= LONGEST_SLUG) return slug
  return `${slug.slice(0, LONGEST_SLUG)}-${Math.abs(hashOf(path)).toString(36)}`
}

/** Of the path, not of the slug: long paths that differ only in punctuation get different slugs. */
function hashOf(path: string): number {
  let hash = 0
  for (let unit = 0; unit < path.length; unit++) hash = (Math.imul(hash, 31) + path.charCodeAt(unit)) | 0
  return hash
}

export type Variables = Partial<Record<(typeof callerVariables)[number], string>>

/** Variable by variable the caller's value, else the daemon's own. An empty one counts as unset, as shells treat it. */
export function mergeVariables(own: Environment, caller: Environment = {}): Variables {
  const merged: Variables = {}
  for (const name of callerVariables) {
    const value = [caller[name], own[name]].find((one) => typeof one === 'string' && one !== '')
    if (value !== undefined) merged[name] = value
  }
  return merged
}

type AgentDirFacts = { root: string; home: string; variables: Variables; type: string; scope: AgentScope }

/** With every link followed. Below the root of a repository there must be none: it must not send the daemon elsewhere. */
export function agentDirOf({ root, home, variables, type, scope }: AgentDirFacts): string {
  const name = safeId(type.replaceAll(':', '-'))
  const { base, below } = placeOf({ root, home, variables, scope })
  const probe = createProbe()
  const from = probe.resolve(base)
  const dir = join(base, below, name)
  const target = probe.resolve(dir)
  const refuse = (problem: string) =>
    new MemoryError('REFUSED', `the memory of agent ${name} in ${base} ${problem}`, { reason: 'path' })
  if (from === undefined || target === undefined) throw refuse('cannot be reached')
  if (target !== join(from, below, name)) throw refuse('leads elsewhere through a link')
  const problem = problemOf(target, home)
  if (problem) throw refuse(problem)
  return target
}

export function isAgentDir(dir: string): boolean {
  return /\/agent-memory(-local)?\/[^/]+$/.test(dir)
}

function placeOf({ root, home, variables, scope }: Omit<AgentDirFacts, 'type'>): { base: string; below: string } {
  if (scope === 'user') return { base: configDirOf(variables, home), below: 'agent-memory' }
  if (scope === 'project') return { base: root, below: '.claude/agent-memory' }
  const remote = variables.CLAUDE_CODE_REMOTE_MEMORY_DIR
  if (remote === undefined) return { base: root, below: '.claude/agent-memory-local' }
  return { base: remote, below: `projects/${slugOf(root)}/agent-memory-local` }
}

/** Of the settings files of Claude Code. A wrong value counts as absent. */
const MemoryKeys = z.object({
  autoMemoryDirectory: z.string().min(1).optional().catch(undefined),
  autoMemoryEnabled: z.boolean().optional().catch(undefined),
})
type MemoryKeys = z.infer<typeof MemoryKeys>

export type ClaudeSettings = {
  policy: MemoryKeys
  local: MemoryKeys
  /** Comes with the repository: it may switch memory off, but must not aim the daemon's writes. */
  committed: { autoMemoryEnabled?: false }
  user: MemoryKeys
}

export const POLICY_FILE = '/etc/claude-code/managed-settings.json'
const LOCAL_FILE = '.claude/settings.local.json'
const COMMITTED_FILE = '.claude/settings.json'
/** A hostile file of a megabyte keeps the JSON parser busy for a quarter of a second. */
const SETTINGS_CAP_BYTES = 262_144

type SettingsPlaces = { project: ProjectRoot; configDir: string; policyFile: string; searchPath: string | undefined }

export function readClaudeSettings(
  { project, configDir, policyFile, searchPath }: SettingsPlaces,
  probe: Probe,
): ClaudeSettings {
  const { keys: found, uid } = readKeys(join(project.root, LOCAL_FILE), probe)
  const isEmpty = found.autoMemoryDirectory === undefined && found.autoMemoryEnabled === undefined
  // git is asked only about a file that says something.
  const local = isEmpty || isPersonal(project, uid, searchPath, probe) ? found : {}
  const committed = readKeys(join(project.root, COMMITTED_FILE), probe).keys
  // A local file that is not the user's own counts as a file of the repository.
  const off = committed.autoMemoryEnabled === false || (local !== found && found.autoMemoryEnabled === false)
  return {
    policy: readKeys(policyFile, probe).keys,
    local,
    committed: off ? { autoMemoryEnabled: false } : {},
    user: readKeys(join(configDir, 'settings.json'), probe).keys,
  }
}

function readKeys(file: string, probe: Probe): { keys: MemoryKeys; uid: number | undefined } {
  const content = isAbsolute(file) ? probe.read(file, SETTINGS_CAP_BYTES) : undefined
  const json = parseJson(content?.bytes.toString().replace(/^\uFEFF/, '') ?? '')
  return { keys: MemoryKeys.safeParse(json).data ?? {}, uid: content?.uid }
}

/** Whether the local settings surely did not come with the repository: the user's, no link (its target may be tracked), untracked. */
function isPersonal(
  project: ProjectRoot,
  uid: number | undefined,
  searchPath: string | undefined,
  probe: Probe,
): boolean {
  const path = join(project.root, LOCAL_FILE)
  return (
    uid === process.geteuid?.() &&
    probe.resolve(path) === path &&
    trackingOf(project, LOCAL_FILE, searchPath, probe) === 'untracked'
  )
}

type MemorySwitch = { on: true } | { on: false; because: string }

/** Whether memory is on, as Claude Code decides it: the first rule that matches. Pure. */
export function decideSwitch(variables: Variables, settings: ClaudeSettings): MemorySwitch {
  const disabled = flag(variables.CLAUDE_CODE_DISABLE_AUTO_MEMORY)
  if (disabled === 'set') return off('CLAUDE_CODE_DISABLE_AUTO_MEMORY is set')
  if (disabled === 'cleared') return { on: true }
  if (flag(variables.CLAUDE_CODE_SIMPLE) === 'set') return off('CLAUDE_CODE_SIMPLE is set')
  if (flag(variables.CLAUDE_CODE_REMOTE) === 'set' && !variables.CLAUDE_CODE_REMOTE_MEMORY_DIR)
    return off('CLAUDE_CODE_REMOTE is set without CLAUDE_CODE_REMOTE_MEMORY_DIR')
  // The more particular file first, as the client merges them; the policy stands above all.
  for (const source of ['policy', 'local', 'committed', 'user'] as const) {
    const enabled = settings[source].autoMemoryEnabled
    if (enabled !== undefined) return enabled ? { on: true } : off(`autoMemoryEnabled is false in ${source} settings`)
  }
  return { on: true }
}

function off(because: string): MemorySwitch {
  return { on: false, because }
}

export function flag(value: string | undefined): 'set' | 'cleared' | undefined {
  if (value === undefined) return undefined
  const word = value.trim().toLowerCase()
  if (['1', 'true', 'yes', 'on'].includes(word)) return 'set'
  return ['0', 'false', 'no', 'off'].includes(word) ? 'cleared' : undefined
}
