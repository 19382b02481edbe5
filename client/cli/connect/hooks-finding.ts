/**
 * Whether the hooks that were put into settings are still there and still lead somewhere; for `memoryd doctor`. Tidies up after
 * a connect that was killed.
 */
import { existsSync, readFileSync } from 'node:fs'
import type { Finding } from '../../../daemon/doctor/checks.ts'
import { HOOK_MARK } from '../../../schema/hook.ts'
import type { Context } from '../context.ts'
import { quoted } from '../installation.ts'
import { commandsOf } from './hook-settings.ts'
import { createNoted } from './noted.ts'
import { sweepBeside } from './settings-file.ts'

const SCRIPT = new RegExp(`sh '((?:[^']|'\\\\'')*${HOOK_MARK}[^']*)'`)

export function hooksFinding({ places, self }: Context): Finding {
  const connections = createNoted(places.stateDir)
  const noted = connections.all()
  connections.sweep()
  for (const { file } of noted) sweepBeside(file)
  if (noted.length === 0)
    return {
      check: 'hooks',
      state: 'ok',
      message: 'no harness is connected',
      remedy: `optional: ${self} connect claude-code`,
    }
  for (const { harness, file } of noted) {
    const trouble = troubleOf(file, places.socketPath)
    if (trouble !== undefined)
      return { check: 'hooks', state: 'warning', message: `${file} ${trouble}`, remedy: `${self} connect ${harness}` }
  }
  const files = noted.map(({ harness, file }) => `${harness} (${file})`)
  return { check: 'hooks', state: 'ok', message: `connected: ${files.join(', ')}` }
}

function troubleOf(file: string, socket: string): string | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return 'cannot be read any more'
  }
  const isJson = file.endsWith('.json')
  const commands = isJson ? commandsOf(text) : []
  const hasOurs = isJson ? commands.length > 0 : text.includes(HOOK_MARK)
  if (!hasOurs) return 'has no longer a hook of ours'
  if (!isJson) return text.includes(JSON.stringify(socket)) ? undefined : 'asks at another socket'
  const gone = commands.some((command) => !existsSync(SCRIPT.exec(command)?.[1]?.replaceAll("'\\''", "'") ?? ''))
  if (gone) return 'has hooks that run a program which is not there'
  if (!commands.every((command) => command.includes(quoted(socket)))) return 'has hooks that ask at another socket'
  return undefined
}
