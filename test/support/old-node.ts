/** A program `node` that says it is a version that memoryd does not run on, as machines still have it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { shellWord } from '../../client/cli/installation.ts'

export function addOldNode(folder: string): string {
  const program = join(folder, 'node')
  const older = `data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '20.20.2' }); process.execPath = '/usr/bin/node'`
  const words = [process.execPath, '--import', older].map(shellWord).join(' ')
  writeFileSync(program, `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 })
  return program
}
