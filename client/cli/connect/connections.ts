/** What `connect` did, in `<state>/connections`: each file with its backup, and how it was left. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Finding } from '../../../daemon/doctor/checks.ts'
import { MemoryError } from '../../../schema/errors.ts'
import { type Connection, HOOK_MARK } from '../../../schema/hook.ts'
import type { Context } from '../context.ts'
import { quoted } from '../installation.ts'
import { addedAgain, commandsOf } from './hook-settings.ts'
import { namesIn, sweepBeside, sweepDrafts, writeWhole } from './settings-file.ts'

/** `before` is the text as it was: undefined where we made the file, `lost` where its backup is damaged or gone. */
export type KnownConnection = Connection & { before: string | undefined | typeof lost }
export const lost = Symbol('lost')

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export function createConnections(stateDir: string) {
  const dir = join(stateDir, 'connections')
  const nameOf = (file: string) => hashOf(file).slice(0, 16)
  const noteOf = (file: string) => join(dir, `${nameOf(file)}.json`)
  // By its content, too: a backup is never written over.
  const backupOf = (file: string, before: string) => join(dir, `${nameOf(file)}-${hashOf(before).slice(0, 12)}.backup`)
  const backupFor = (name: string, { pieces, hash }: Connection) =>
    namesIn(dir)
      .filter((each) => each.startsWith(name) && each.endsWith('.backup'))
      .map((each) => readFileSync(join(dir, each), 'utf8'))
      .find((before) => hashOf(addedAgain(before, pieces)) === hash) ?? lost
  const read = (note: string): KnownConnection | undefined => {
    try {
      const connection = JSON.parse(readFileSync(note, 'utf8')) as Connection
      return { ...connection, before: connection.made ? undefined : backupFor(basename(note, '.json'), connection) }
    } catch {
      return undefined
    }
  }
  const textOf = (note: string) => (existsSync(note) ? readFileSync(note, 'utf8') : undefined)
  const rights = { mode: 0o600 }
  const drop = (file: string): void => rmSync(noteOf(file), { force: true })
  return {
    backupOf,
    of: (file: string) => read(noteOf(file)),
    all: (): KnownConnection[] =>
      namesIn(dir)
        .filter((name) => name.endsWith('.json'))
        .flatMap((name) => read(join(dir, name)) ?? []),
    /** Before the file is changed: whatever a kill leaves, its backup is there. Returns how to take it back. */
    keep: (connection: Connection, before: string | undefined): (() => void) => {
      const { file } = connection
      const note = noteOf(file)
      try {
        mkdirSync(dir, { recursive: true, mode: 0o700 })
        sweepDrafts(dir)
        const earlier = textOf(note)
        const text = `${JSON.stringify(connection, null, 2)}\n`
        if (before !== undefined) writeWhole(backupOf(file, before), before, rights)
        writeWhole(note, text, rights)
        return () => {
          // Another connect may have come first, and noted what is there now.
          if (textOf(note) !== text) return
          if (earlier === undefined) drop(file)
          else writeWhole(note, earlier, rights)
        }
      } catch (cause) {
        const why = (cause as NodeJS.ErrnoException).code ?? (cause as Error).message
        const what = `no backup of ${file} can be kept in ${dir} (${why}); nothing was changed`
        throw new MemoryError('REFUSED', what, { reason: 'path', cause, hint: 'make room there, or make it writable' })
      }
    },
    drop,
    sweep: () => sweepDrafts(dir),
  }
}

const SCRIPT = new RegExp(`sh '((?:[^']|'\\\\'')*${HOOK_MARK}[^']*)'`)

/** For `memoryd doctor`: whether our hooks are still there and run. Tidies up after a connect that was killed. */
export function hooksFinding({ places, self }: Context): Finding {
  const connections = createConnections(places.stateDir)
  const known = connections.all()
  connections.sweep()
  for (const { file } of known) sweepBeside(file)
  const connected = known.map(({ harness, file }) => `${harness} (${file})`).join(', ')
  const ok: Finding = { check: 'hooks', state: 'ok', message: `connected: ${connected}` }
  if (known.length === 0)
    return { ...ok, message: 'no harness is connected', remedy: `optional: ${self} connect claude-code` }
  for (const { harness, file } of known) {
    const problem = problemOf(file, places.socketPath)
    if (problem !== undefined)
      return { check: 'hooks', state: 'warning', message: `${file} ${problem}`, remedy: `${self} connect ${harness}` }
  }
  return ok
}

function problemOf(file: string, socket: string): string | undefined {
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
