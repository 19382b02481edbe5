#!/usr/bin/env node
/**
 * The `memoryd` command. Checks the version of Node, in syntax that older versions can read, then loads the program: a checkout
 * runs its sources, on the Node that it brought along where this one is too old; a package what was built from them.
 */
import { spawn } from 'node:child_process'
import { existsSync, realpathSync, rmSync } from 'node:fs'
import module from 'node:module'
import { isAbsolute, join } from 'node:path'
import { isatty } from 'node:tty'
import { fileURLToPath } from 'node:url'

const OLDEST = [22, 22]

const [major, minor] = process.versions.node.split('.').map(Number)
const isTooOld = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])
const self = fileURLToPath(import.meta.url)
const source = new URL('./main.ts', import.meta.url)
const ownNode = join(self, '../../../node_modules/.bin/node')
const refuse = () => {
  console.error(`memoryd needs Node ${OLDEST.join('.')} or newer; ${process.execPath} is ${process.versions.node}`)
  process.exitCode = 5
}

if (!isTooOld) {
  // Not in the folder for temporary files, which is Node's default: others may write there. The demo leaves nothing behind.
  const cache = join(process.env.XDG_CACHE_HOME || join(process.env.HOME || '', '.cache'), 'memoryd')
  // Without a home there is no place for it.
  const hasPlace = isAbsolute(cache)
  if (hasPlace && process.argv[2] === 'uninstall') rmSync(cache, { recursive: true, force: true })
  else if (hasPlace && process.argv[2] !== 'demo') module.enableCompileCache(cache)
  await import(existsSync(source) ? source.href : new URL('../../dist/cli.js', import.meta.url).href)
} else if (existsSync(source) && existsSync(ownNode) && realpathSync(ownNode) !== process.execPath) {
  const child = spawn(ownNode, [self, ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const name of ['SIGTERM', 'SIGHUP', 'SIGINT'])
    process.on(name, () => {
      // A terminal sends Ctrl-C to both processes, and a second one ends a daemon at once.
      if (name !== 'SIGINT' || ![0, 1, 2].some((fd) => isatty(fd))) child.kill(name)
    })
  child.once('error', refuse)
  child.once('exit', (code, signal) => {
    process.exitCode = code
    if (signal) process.removeAllListeners(signal).kill(process.pid, signal)
  })
} else refuse()
