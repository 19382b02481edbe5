/** Where the files of this installation are, and what a user types to run it. A checkout runs its sources, a package `dist`. */
import { readFileSync, realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Environment, readVersion } from '../../schema/rendezvous.ts'

const isCheckout = import.meta.url.endsWith('.ts')
const root = fileURLToPath(new URL(isCheckout ? '../..' : '..', import.meta.url)).replace(/\/$/, '')

export const version = readVersion()
export const cliMain = join(root, 'client/cli/memoryd.js')
export const daemonMain = join(root, isCheckout ? 'daemon/main.ts' : 'dist/daemon.js')
export const hookScript = join(root, 'client/hooks/memoryd-hook.sh')

export function readTemplate(name: string): string {
  return readFileSync(join(root, name), 'utf8')
}

/** `memoryd` where the PATH leads to it, `npx memoryd` where npx finds it from here or fetched it, else the path. */
export function ownCommandName(env: Environment): string {
  const cwd = process.cwd()
  const target = realPath(cliMain)
  const isOurs = (file: string) => target !== undefined && realPath(file) === target
  // npm and npx put folders like these on the PATH of what they run; the user's shell does not have them.
  const lasting = (env.PATH ?? '').split(delimiter).filter((folder) => !/(^|\/)node_modules\/\.bin\/?$/.test(folder))
  if (lasting.some((folder) => isOurs(join(folder, 'memoryd')))) return 'memoryd'
  const isFetched = /\/_npx\/[^/]+\/node_modules\//.test(cliMain)
  if (isFetched || cwd === root || isOurs(join(cwd, 'node_modules/.bin/memoryd'))) return 'npx memoryd'
  return `${shellWord(process.execPath)} ${shellWord(cliMain)}`
}

/** In single quotes nothing means anything to a shell. */
export const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

export const shellWord = (word: string) => (/^[\w./@+-]+$/.test(word) ? word : quoted(word))

function realPath(file: string): string | undefined {
  try {
    return realpathSync(file)
  } catch {
    return undefined
  }
}
