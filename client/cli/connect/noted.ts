/** What `connect` did, in `<state>/connections`: each file with its backup, and how it was left. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Finding } from '../../../daemon/doctor/checks.ts'
import { MemoryError } from '../../../schema/errors.ts'
import { type Connection, HOOK_MARK } from '../../../schema/hook.ts'
import type { Context } from '../context.ts'
import { quoted } from '../installation.ts'
import { addedAgain, commandsOf } from './hook-settings.ts'
import { sweepBeside, sweepDrafts, writeWhole } from './settings-file.ts'

/** `before` is the text as it was: nothing where we made the file, `lost` where no backup is what it should be. */
export type Noted = Connection & { before: string | undefined | typeof lost }
export const lost = Symbol('lost')

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export function createNoted(stateDir: string) {
  const dir = join(stateDir, 'connections')
  const nameOf = (file: string) => join(dir, hashOf(file).slice(0, 16))
  // By its content, too: a backup is never written over.
  const backupOf = (file: string, before: string) => `${nameOf(file)}-${hashOf(before).slice(0, 12)}.backup`
  const names = (): string[] => {
    try {
      return readdirSync(dir)
    } catch {
      return []
    }
  }
  /** With our pieces a backup makes the text that we left, or it is damaged. */
  const backupFor = (name: string, connection: Connection) => {
    for (const each of names().filter((file) => file.startsWith(basename(name)) && file.endsWith('.backup'))) {
      const before = readFileSync(join(dir, each), 'utf8')
      if (hashOf(addedAgain(before, connection.pieces)) === connection.hash) return before
    }
    return lost
  }
  const read = (name: string): Noted | undefined => {
    try {
      const connection = JSON.parse(readFileSync(`${name}.json`, 'utf8')) as Connection
      return { ...connection, before: connection.made ? undefined : backupFor(name, connection) }
    } catch {
      return undefined
    }
  }
  const rights = { mode: 0o600 }
  const drop = (file: string): void => rmSync(`${nameOf(file)}.json`, { force: true })
  return {
    backupOf,
    of: (file: string): Noted | undefined => read(nameOf(file)),
    all: (): Noted[] =>
      names()
        .filter((name) => name.endsWith('.json'))
        .flatMap((name) => read(join(dir, name.slice(0, -'.json'.length))) ?? []),
    /** Before the file is changed: whatever a kill leaves, its backup is there. Returns how to take it back. */
    keep: ({ before, ...connection }: Noted): (() => void) => {
      const note = `${nameOf(connection.file)}.json`
      try {
        mkdirSync(dir, { recursive: true, mode: 0o700 })
        sweepDrafts(dir)
        const noteThere = () => (names().includes(basename(note)) ? readFileSync(note, 'utf8') : undefined)
        const earlier = noteThere()
        const text = `${JSON.stringify(connection, null, 2)}\n`
        if (typeof before === 'string') writeWhole(backupOf(connection.file, before), before, rights)
        writeWhole(note, text, rights)
        return () => {
          // Another connect may have come first, and noted what is there now.
          if (noteThere() !== text) return
          if (earlier === undefined) drop(connection.file)
          else writeWhole(note, earlier, rights)
        }
      } catch (cause) {
        const why = (cause as NodeJS.ErrnoException).code ?? (cause as Error).message
        const what = `no backup of ${connection.file} can be kept in ${dir} (${why}); nothing was changed`
        throw new MemoryError('REFUSED', what, { reason: 'path', cause, hint: 'make room there, or make it writable' })
      }
    },
    /** The backup stays. */
    drop,
    sweep: () => sweepDrafts(dir),
  }
}

/**
 * Whether the hooks that were put into settings are still there and still lead somewhere; for `memoryd doctor`. Tidies up after
 * a connect that was killed.
 */

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
