/**
 * The two keys about memory in the settings files of Claude Code that are read here. A file that cannot be understood
 * counts as one that says nothing.
 */
import { isAbsolute, join } from 'node:path'
import { z } from 'zod'
import { type ProjectRoot, trackingOf } from './git.ts'
import type { Variables } from './memory-dir.ts'
import type { Probe } from './paths.ts'

const MemoryKeys = z.object({
  autoMemoryDirectory: z.string().min(1).optional().catch(undefined),
  autoMemoryEnabled: z.boolean().optional().catch(undefined),
})
export type MemoryKeys = z.infer<typeof MemoryKeys>

export type ClaudeSettings = {
  policy: MemoryKeys
  local: MemoryKeys
  /** Comes with the repository, so it may switch memory off and nothing else: it must not be able to aim our writes. */
  committed: { autoMemoryEnabled?: false }
  user: MemoryKeys
}

export const POLICY_FILE = '/etc/claude-code/managed-settings.json'
const LOCAL_FILE = '.claude/settings.local.json'
const COMMITTED_FILE = '.claude/settings.json'
/** Real ones have a few kilobytes; a hostile one of a megabyte keeps the JSON parser busy for a quarter of a second. */
const SETTINGS_CAP_BYTES = 262_144

/** `searchPath`: where git is. */
export type SettingsPlaces = {
  project: ProjectRoot
  configDir: string
  policyFile: string
  searchPath: string | undefined
}

export function readClaudeSettings(
  { project, configDir, policyFile, searchPath }: SettingsPlaces,
  probe: Probe,
): ClaudeSettings {
  const { keys: found, uid } = readKeys(join(project.root, LOCAL_FILE), probe)
  const local = saysNothing(found) || isPersonal(project, uid, searchPath, probe) ? found : {}
  const committed = readKeys(join(project.root, COMMITTED_FILE), probe).keys
  // A local file that is not the person's own is one more file of the repository.
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
  return { keys: content ? parseKeys(content.bytes.toString()) : {}, uid: content?.uid }
}

function parseKeys(text: string): MemoryKeys {
  try {
    return MemoryKeys.safeParse(JSON.parse(text.replace(/^\uFEFF/, ''))).data ?? {}
  } catch {
    return {}
  }
}

function saysNothing(keys: MemoryKeys): boolean {
  return keys.autoMemoryDirectory === undefined && keys.autoMemoryEnabled === undefined
}

/**
 * Whether the local settings were surely written by the person and did not come with the repository: theirs, a file and
 * not a link (its target might be tracked), and not in git's index. The index is read only for a file that says something.
 */
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

/** Whether memory is on, as Claude Code decides it: the first rule that matches. Does no I/O. */

export type MemorySwitch = { on: true } | { on: false; because: string }

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

/** As switches in the environment are spelled. */
export function flag(value: string | undefined): 'set' | 'cleared' | undefined {
  if (value === undefined) return undefined
  const word = value.trim().toLowerCase()
  if (['1', 'true', 'yes', 'on'].includes(word)) return 'set'
  return ['0', 'false', 'no', 'off'].includes(word) ? 'cleared' : undefined
}
