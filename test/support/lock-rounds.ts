/** Processes that contend for the lock of one memory directory: the short count in `npm test`, the full one in `test:long`. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { openDatabases } from '../../daemon/db/databases.ts'
import { LOCK_FILE } from '../../daemon/dream/dream-lock.ts'
import { createJournal } from '../../daemon/memory/journal.ts'
import { makeHome } from './home.ts'
import { topic } from './memory.ts'

const program = fileURLToPath(new URL('./lock-program.ts', import.meta.url))
const PROCESSES = 8

export function lockGround() {
  const { dir: home } = makeHome()
  const state = join(home, 'state')
  const dir = join(home, 'memory')
  for (const folder of [state, dir]) mkdirSync(folder)
  return { state, dir, file: join(dir, LOCK_FILE) }
}

export type Ground = ReturnType<typeof lockGround>

export function lockProgram(how: string, { state, dir }: Pick<Ground, 'state' | 'dir'>, times = 0) {
  const child = spawn(process.execPath, [program, how, state, dir, String(times)], { stdio: ['pipe', 'pipe', 'pipe'] })
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const lines: string[] = []
  let first = (_line: string) => {}
  const said = new Promise<string>((resolve) => {
    first = resolve
  })
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    first(line)
  })
  const exited = new Promise<{ code: number | null; stderr: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, stderr })),
  )
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const kill = () => {
    child.kill('SIGKILL')
    return exited
  }
  return { pid: child.pid as number, said, lines, exited, kill }
}

/** Another program writes over what ours has written, by the simple protocol: its lines all stay, and ours are in the journal. */
export async function alternate(oursTimes: number, theirsTimes: number): Promise<void> {
  const ground = lockGround()
  const memory = join(ground.dir, 'shared.md')
  writeFileSync(memory, topic('- a line'))
  const ours = lockProgram('careful', ground, oursTimes)
  const foreign = lockProgram('foreign', ground, theirsTimes)
  for (const { exited } of [ours, foreign]) expect(await exited).toEqual({ code: 0, stderr: '' })
  const lines = readFileSync(memory, 'utf8').split('\n')
  for (let n = 0; n < theirsTimes; n++) expect(lines).toContain(`- foreign ${n}`)
  // What they wrote over is in the journal.
  const store = openDatabases(ground.state, Date.now())
  const journal = createJournal(store.history)
  const kept = journal.list({ dir: ground.dir, limit: 999 }).filter(({ op }) => op !== 'refused')
  store.close()
  expect(kept.length + ours.lines.length).toBe(oursTimes)
  expect(kept.length).toBeGreaterThan(0)
}

/** A process that finds another inside ends with an error. Half of the time there is a lock file already. */
export async function contend(rounds: number): Promise<void> {
  for (const before of [undefined, 1_700_000_000_123]) {
    const ground = lockGround()
    if (before !== undefined) {
      writeFileSync(ground.file, '')
      utimesSync(ground.file, before / 1_000, (before + 0.5) / 1_000)
    }
    const each = Math.ceil(rounds / 2 / PROCESSES)
    const all = Array.from({ length: PROCESSES }, () => lockProgram('ours', ground, each))
    expect(await Promise.all(all.map(({ exited }) => exited))).toEqual(
      Array.from({ length: PROCESSES }, () => ({ code: 0, stderr: '' })),
    )
    if (before === undefined) expect(existsSync(ground.file)).toBe(false)
    else expect(Math.floor(statSync(ground.file).mtimeMs)).toBe(before)
  }
}
