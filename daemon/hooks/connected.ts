/** Which harnesses are connected: those whose settings, as `memoryd connect` noted them, still have a hook of ours. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Connection, HOOK_MARK } from '../../schema/hook.ts'

export const connectionsDir = (stateDir: string) => join(stateDir, 'connections')

export function connectedHarnesses(stateDir: string): Set<string> {
  return new Set(
    noted(connectionsDir(stateDir)).flatMap(({ harness, file }) => (textOf(file).includes(HOOK_MARK) ? [harness] : [])),
  )
}

function noted(dir: string): Connection[] {
  let names: string[]
  try {
    names = readdirSync(dir).filter((name) => name.endsWith('.json'))
  } catch {
    return []
  }
  return names.flatMap((name) => {
    try {
      const found = Connection.safeParse(JSON.parse(textOf(join(dir, name))))
      return found.success ? [found.data] : []
    } catch {
      return []
    }
  })
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
