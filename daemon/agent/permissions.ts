/** Decides at each call what a model may do. What is allowed is located here: its text is never interpreted again. */
import { realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { isDeeperThan } from '../platform/json.ts'
import { covers } from '../projects/paths.ts'
import type { Policy, Reach } from './agent.ts'
import { type Command, parseCommand } from './command-line.ts'
import { type Denied, isTool, parseInput, quoted, type ToolCall, type ToolName } from './tools.ts'

type Reading = Extract<ToolCall, { tool: 'Read' | 'Grep' | 'Glob' }>
type Changing = Extract<ToolCall, { tool: 'Edit' | 'Write' }>

export type Permitted =
  | (Reading & { place: Place })
  | (Changing & { place: Place; file: string })
  | { tool: 'Bash'; command: Command; places: Place[] }

const CAP_INPUT_CHARS = 1_500_000
const CAP_LEVELS = 20

export function permit(policy: Policy, places: Places, name: string, input: unknown): Permitted | Denied {
  if (!isTool(name)) return { denied: `there is no tool ${quoted(name)} here` }
  const because = deniedByPolicy(policy, name)
  if (because) return { denied: because }
  if (isDeeperThan(input, CAP_LEVELS)) return { denied: `the input of ${name} is nested too deeply` }
  if (JSON.stringify(input ?? null).length > CAP_INPUT_CHARS) return { denied: `the input of ${name} is too large` }
  const call = parseInput(name, input)
  if ('denied' in call) return call
  switch (call.tool) {
    case 'Bash':
      return permitCommand(places, call.input.command)
    case 'Edit':
    case 'Write': {
      const place = locateChange(policy, places, call.input.file_path)
      return 'denied' in place ? place : { ...call, place, file: place.inMemory ?? '' }
    }
    default: {
      const place = places.locate(call.tool === 'Read' ? call.input.file_path : (call.input.path ?? '.'))
      return 'denied' in place ? place : { ...call, place }
    }
  }
}

function deniedByPolicy({ may }: Policy, name: ToolName): string | undefined {
  if (may === 'nothing') return 'no tool may be used for this; answer with text'
  if (may === 'notes' && name !== 'Edit') return `${name} may not be used for this; only Edit of the notes file`
  return undefined
}

function locateChange(policy: Policy, places: Places, asked: string): Place | Denied {
  const place = places.locateChange(asked)
  if ('denied' in place || policy.may !== 'notes' || place.inMemory === policy.file) return place
  return { denied: `${quoted(asked)} is not the notes file, and nothing else may be edited` }
}

function permitCommand(places: Places, line: string): Permitted | Denied {
  const command = parseCommand(line)
  if ('denied' in command) return command
  const found = command.paths.map(places.locate)
  return found.find((place) => 'denied' in place) ?? { tool: 'Bash', command, places: found as Place[] }
}

/** `path` holds no link. `root`: what it is inside of. `inMemory`: from the memory directory on, where it is inside. */
export type Place = { path: string; root: string; inMemory: string | undefined; asked: string }

/** Folders and files that hold keys wherever they stand: a project may be the user's whole home. */
const KEYS = new Set(['.ssh', '.gnupg', '.aws', '.netrc', '.npmrc', '.pypirc', '.docker', '.kube', '.git-credentials'])

/** Turns what a model calls a path into the one place it leads to, after every link was followed, or denies it. */
export function createPlaces({ memoryDir, readable, files = [], closed }: Reach) {
  const memory = followed(memoryDir)
  const roots = [memory, ...readable.map(followed)]
  const shut = closed.map(followed)
  const single = new Set(files.map(followed))

  const placed = (path: string, asked: string): Place | Denied => {
    const root = roots.find((each) => covers(each, path)) ?? (single.has(path) ? dirname(path) : undefined)
    if (root === undefined)
      return { denied: `${quoted(asked)} is outside the memory directory, the transcripts and the project` }
    // The memory directory may itself be inside a closed folder.
    if (root !== memory && shut.some((each) => covers(each, path)))
      return { denied: `${quoted(asked)} is what the daemon keeps for itself` }
    const names = relative(root, path).toLowerCase().split(sep)
    if (names.some((name) => KEYS.has(name))) return { denied: `${quoted(asked)} is a place for keys and is not read` }
    return { path, root, inMemory: covers(memory, path) ? relative(memory, path) : undefined, asked }
  }

  const locate = (asked: string): Place | Denied => {
    const problem = problemWith(asked)
    return problem ? { denied: `${quoted(asked)} ${problem}` } : placed(followed(resolve(memory, asked)), asked)
  }

  /** A home is elsewhere, unless the path leads by way of it to the memory directory. */
  const isElsewhere = (asked: string): boolean => {
    if (asked.startsWith('~')) return !endsWithStartOf(memory, asked.slice(1))
    return asked.includes('://') || !covers(memory, resolve(memory, asked))
  }

  return {
    locate,
    below: (place: Place, within: string): Place | Denied => {
      const path = join(place.path, within)
      return placed(path, path)
    },
    /** For a change: a way through a link is denied even where it ends inside. */
    locateChange: (asked: string): Place | Denied => {
      const place = locate(asked)
      // A name that leads nowhere is a slip; one that leads outside counts as astray, however it is spelled.
      if ('denied' in place) return problemWith(asked) && !isElsewhere(asked) ? place : { ...place, astray: true }
      if (place.inMemory === undefined || place.inMemory === '') {
        const denied = `${quoted(asked)} is not a file in the memory directory, and nothing else may be changed`
        return { denied, ...(place.inMemory === undefined && { astray: true }) }
      }
      const plain = isAbsolute(asked) ? [memory, memoryDir] : [memory]
      if (!plain.some((dir) => relative(dir, resolve(memory, asked)) === place.inMemory))
        return { denied: `${quoted(asked)} leads through a link; name the file itself` }
      return place
    },
  }
}

export type Places = ReturnType<typeof createPlaces>

/** Without links, as far as it exists; what is missing stays as it was given. */
function followed(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // A loop of links, or a folder that is closed to us: nothing behind it is ever found inside.
    if (code !== 'ENOENT' && code !== 'ENOTDIR') return join(sep, 'unreachable', basename(path))
    const parent = dirname(path)
    return parent === path ? path : join(followed(parent), basename(path))
  }
}

/** Whether a path begins with folders that another one ends with. */
function endsWithStartOf(ending: string, path: string): boolean {
  for (let folder = dirname(path); folder !== sep && folder !== '.'; folder = dirname(folder))
    if (folder.startsWith(sep) && ending.endsWith(folder)) return true
  return false
}

function problemWith(asked: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\x00-\x1f\x7f]/.test(asked)) return 'holds a control character'
  if (Buffer.byteLength(asked) > 4096) return 'is too long for a path'
  if (asked.startsWith('~')) return 'begins with ~, which means nothing here; name the whole path'
  if (asked.includes('://')) return 'is an address, not a path'
  return undefined
}
