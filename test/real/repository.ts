/** A real repository with one commit, below a HOME. */
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Home } from '../support/home.ts'

export function git(home: Home, ...args: string[]): void {
  const who = ['-c', 'user.name=x', '-c', 'user.email=x@internal.test', '-c', 'init.defaultBranch=main']
  execFileSync('git', [...who, ...args], { env: home.env as NodeJS.ProcessEnv, stdio: 'ignore' })
}

export function repository(home: Home, ...path: string[]): string {
  const root = join(home.dir, ...path)
  mkdirSync(root, { recursive: true })
  git(home, 'init', '-q', root)
  git(home, '-C', root, 'commit', '--allow-empty', '-m', 'first')
  return root
}
