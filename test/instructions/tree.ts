/** A home, a project and a machine's own folder, all of them real, to plant instruction files in. */
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type InstructionPlaces, loadInstructions } from '../../daemon/instructions/instructions.ts'
import { makeHome } from '../support/home.ts'

export type Tree = {
  home: string
  root: string
  at(path: string): string
  plant(files: Record<string, string | Uint8Array>): void
  load(options?: Partial<InstructionPlaces>): ReturnType<typeof loadInstructions>['items']
  /** What was loaded: paths within the tree. */
  paths(options?: Partial<InstructionPlaces>): string[]
}

/** `outer/` holds `etc/` (managed), `home/` with `.claude/`, and the project `home/work/`. */
export function makeTree(): Tree {
  const outer = realpathSync(makeHome().dir)
  const home = join(outer, 'home')
  const root = join(home, 'work')
  mkdirSync(root, { recursive: true })
  const at = (path: string) => join(outer, path)
  const load = (options: Partial<InstructionPlaces> = {}) =>
    loadInstructions({
      cwd: root,
      root,
      home,
      claudeDir: join(home, '.claude'),
      managedFile: at('etc/CLAUDE.md'),
      agentsMd: false,
      ...options,
    }).items
  return {
    home,
    root,
    at,
    load,
    paths: (options) => load(options).map(({ path }) => path.replace(`${outer}/`, '')),
    plant: (files) => {
      for (const [path, content] of Object.entries(files)) {
        mkdirSync(dirname(at(path)), { recursive: true })
        writeFileSync(at(path), content)
      }
    },
  }
}
