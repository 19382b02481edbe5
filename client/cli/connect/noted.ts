/** What `connect` did, in `<state>/connections`: each file with its backup, and how it was left. */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Connection } from '../../../schema/hook.ts'

export type Noted = Connection & { before: string | undefined }

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export function createNoted(stateDir: string) {
  const dir = join(stateDir, 'connections')
  const nameOf = (file: string) => join(dir, hashOf(file).slice(0, 16))
  const read = (name: string): Noted | undefined => {
    try {
      const connection = JSON.parse(readFileSync(`${name}.json`, 'utf8')) as Connection
      return { ...connection, before: connection.made ? undefined : readFileSync(`${name}.backup`, 'utf8') }
    } catch {
      return undefined
    }
  }
  return {
    backupOf: (file: string) => `${nameOf(file)}.backup`,
    of: (file: string): Noted | undefined => read(nameOf(file)),
    all: (): Noted[] => {
      try {
        return readdirSync(dir)
          .filter((name) => name.endsWith('.json'))
          .flatMap((name) => read(join(dir, name.slice(0, -'.json'.length))) ?? [])
      } catch {
        return []
      }
    },
    /** Before the file is changed: whatever a kill leaves, its backup is there. */
    keep: ({ before, ...connection }: Noted): void => {
      mkdirSync(dir, { recursive: true, mode: 0o700 })
      const name = nameOf(connection.file)
      if (before !== undefined) writeFileSync(`${name}.backup`, before, { mode: 0o600 })
      writeFileSync(`${name}.draft`, `${JSON.stringify(connection, null, 2)}\n`, { mode: 0o600 })
      renameSync(`${name}.draft`, `${name}.json`)
    },
    /** The backup stays. */
    drop: (file: string): void => rmSync(`${nameOf(file)}.json`, { force: true }),
  }
}
