/** Whether a tool that the agent called writes into a folder. Reads names and links of files, never what they hold. */
import { realpathSync } from 'node:fs'
import { dirname, resolve, sep } from 'node:path'

export type Call = { name: string; input: string }

const WRITERS = new Set([
  'apply_patch',
  'create_file',
  'edit',
  'edit_file',
  'multiedit',
  'notebookedit',
  'replace',
  'str_replace_based_edit_tool',
  'str_replace_editor',
  'write',
  'write_file',
])
const PATHS = ['file_path', 'filePath', 'path', 'absolute_path', 'notebook_path', 'filename']
/** A patch names its files in lines of its own, also where a shell is given it. */
const PATCHED = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$/gm

/** `cwd`: where relative paths begin. */
export function writesInto(dir: string, call: Call, at: { cwd: string; home: string }): boolean {
  const folders = [dir, real(dir)]
  return pathsIn(call).some((path) => {
    const whole = resolve(at.cwd, path.replace(/^~(?=\/)/, at.home))
    return [whole, real(whole)].some((one) => folders.some((folder) => one.startsWith(`${folder}${sep}`)))
  })
}

function pathsIn({ name, input }: Call): string[] {
  const text = parsed(input)
  const patched = texts(text).flatMap((each) => [...each.matchAll(PATCHED)].map(([, path]) => (path ?? '').trim()))
  if (!WRITERS.has(name.toLowerCase()) || typeof text !== 'object' || text === null) return patched
  const named = PATHS.map((field) => (text as Record<string, unknown>)[field])
  return [...named.filter((path) => typeof path === 'string'), ...patched]
}

function texts(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null
    ? Object.values(value).filter((one) => typeof one === 'string')
    : []
}

function parsed(input: string): unknown {
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}

/** Without its links, as far as it exists. */
function real(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const above = dirname(path)
    return above === path ? path : `${real(above)}${path.slice(above.length)}`
  }
}
