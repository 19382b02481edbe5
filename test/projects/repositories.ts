/** Real repositories, made by the real git, in a home of their own. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Home, makeHome } from '../support/home.ts'

export type Workshop = {
  home: Home
  /** Its real path: what is found is compared with it. */
  dir: string
  git(cwd: string, ...args: string[]): string
  /** A repository with one commit. */
  repository(name: string, ...options: string[]): string
  write(path: string, content: string | object): string
}

export function makeWorkshop(): Workshop {
  const home = makeHome()
  const dir = realpathSync(home.dir)
  writeFileSync(
    join(dir, '.gitconfig'),
    '[user]\n\tname = t\n\temail = t@example.org\n[protocol "file"]\n\tallow = always\n[init]\n\tdefaultBranch = main\n',
  )
  const env = { ...home.env, GIT_CONFIG_NOSYSTEM: '1' }
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  return {
    home,
    dir,
    git,
    repository: (name, ...options) => {
      const root = join(dir, name)
      git(dir, 'init', '-q', ...options, root)
      git(root, 'commit', '-q', '--allow-empty', '-m', 'first')
      return root
    },
    write: (path, content) => {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
      return path
    },
  }
}

/** Root may enter every folder, so what a closed one does is seen only without its rights. */
export function withoutRights<T>(run: () => T): T {
  if (process.geteuid?.() !== 0) return run()
  process.seteuid?.(65_534)
  try {
    return run()
  } finally {
    process.seteuid?.(0)
  }
}
