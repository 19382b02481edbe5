/** The project's own source files as text, for tests that hold conventions. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const projectRoot = fileURLToPath(new URL('../..', import.meta.url))

export type Source = { path: string; text: string }

export function sources(...folders: string[]): Source[] {
  return folders.flatMap((folder) =>
    readdirSync(join(projectRoot, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.d.ts'))
      .map((entry) => join(entry.parentPath, entry.name).slice(projectRoot.length))
      .filter((path) => !path.startsWith('client/dist/'))
      .map((path) => ({ path, text: readFileSync(join(projectRoot, path), 'utf8') })),
  )
}
