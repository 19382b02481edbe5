#!/usr/bin/env node
/**
 * The `memoryd` command. Checks the version of Node, in syntax that older versions can read, then loads the program: a checkout
 * runs its sources, a package what was built from them.
 */
import { existsSync, rmSync } from 'node:fs'
import module from 'node:module'
import { isAbsolute, join } from 'node:path'

const OLDEST = [22, 22]

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  process.stderr.write(
    `memoryd needs Node ${OLDEST.join('.')} or newer; ${process.execPath} is ${process.versions.node}\n`,
  )
  process.exitCode = 5
} else {
  // Not in the folder for temporary files, which is Node's default: others may write there. The demo leaves nothing behind.
  const cache = join(process.env.XDG_CACHE_HOME || join(process.env.HOME || '', '.cache'), 'memoryd')
  // Without a home there is no place for it.
  const hasPlace = isAbsolute(cache)
  if (hasPlace && process.argv[2] === 'uninstall') rmSync(cache, { recursive: true, force: true })
  else if (hasPlace && process.argv[2] !== 'demo') module.enableCompileCache(cache)
  const source = new URL('./main.ts', import.meta.url)
  await import(existsSync(source) ? source.href : new URL('../../dist/cli.js', import.meta.url).href)
}
