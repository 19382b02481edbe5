/** Installs a published program into a folder of its own, for as long as a suite runs. */
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Installed = { program: string; remove(): void } | { missing: string }

type Wanted = { name: string; version: string /** Its path in a package for one system. */; program: RegExp }

const INSTALL_MS = 300_000

/** Without install steps, which only copy programs that we call by their own path. */
export async function install({ name, version, program }: Wanted): Promise<Installed> {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-real-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  const wanted = `${name}@${version}`
  const args = ['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund', '--ignore-scripts', wanted]
  const failed = await new Promise<string | undefined>((resolve) =>
    execFile('npm', args, { timeout: INSTALL_MS, cwd: folder }, (error, _stdout, stderr) =>
      resolve(error ? stderr.trim().split('\n').slice(-3).join(' ') || error.message : undefined),
    ),
  )
  const scope = join(folder, 'node_modules', name.split('/')[0] ?? '')
  const found = existsSync(scope)
    ? readdirSync(scope, { recursive: true, encoding: 'utf8' }).find((path) => program.test(path))
    : undefined
  if (found && failed === undefined) return { program: join(scope, found), remove }
  remove()
  return { missing: `${wanted} cannot be installed here: ${failed ?? 'it has no program for this system'}` }
}
