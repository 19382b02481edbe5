/** A real daemon process whose file calls a test lets fail, or at one of which it is killed, by `faults.c` before its libc. */
import { execFileSync } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, readSync, renameSync, writeFileSync, writeSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { inject, onTestFinished, type TestContext } from 'vitest'
import { type RunningDaemon, startDaemon } from './daemon.ts'
import type { Home } from './home.ts'
import { needPrograms } from './programs.ts'
import { projectRoot } from './sources.ts'

/** In the order of `faults.c`. `open-write`: with the right to write, or to make the file. `change`: of mode and times. */
export const CALLS = [
  ...(['open-read', 'open-write', 'read', 'write', 'sync', 'rename', 'link', 'unlink', 'mkdir', 'rmdir'] as const),
  ...(['truncate', 'close', 'stat', 'list', 'change'] as const),
]
export type FileCall = (typeof CALLS)[number]
export type ErrorName = 'EIO' | 'ENOSPC' | 'EACCES' | 'EMFILE' | 'ENFILE' | 'EDQUOT' | 'EROFS'

export type FaultRule = {
  /** One of these. */
  calls: FileCall | readonly FileCall[]
  /** A part of the path, its end, and a part that it must not have. Of two names, one has to match. */
  within?: string
  ends?: string
  except?: string
  /** `main`: of JavaScript's own thread. `other`: where transcripts are read, and where Node waits for a file. By default of any. */
  thread?: 'main' | 'other'
  /** The first of the matching calls that fails, from now on; by default the next. */
  first?: number
  /** How many fail: one, by default. */
  times?: number | 'lasting'
  /** Without one, calls are only counted. `kill`: instead of the call, the process ends as by kill -9. */
  error?: ErrorName | 'kill'
}

export type Fault = {
  /** How many calls have matched, and how many of them have failed. */
  seen(): number
  hits(): number
  /** As if there were no such rule; what was counted stays. */
  heal(): void
}

export type Faults = {
  /** For other programs under the same rules. */
  home: Home
  /** A daemon under the rules of this home, which outlive it. */
  start(): Promise<RunningDaemon>
  fail(rule: FaultRule): Fault
  /** Every call works again. */
  heal(): void
  /** What has failed, in order: `rename EIO /…`. */
  failed(): string[]
}

const RULE_BYTES = 512
const RULES = 96
/** Where the counters stand in a rule, and where the texts with their room. */
const SEEN = 24
const HITS = 28
const TEXTS = { within: [36, 252], ends: [288, 112], except: [400, 112] } as const

export async function startWithFaults(context: TestContext, home: Home): Promise<RunningDaemon & Faults> {
  const faults = faultsIn(context, home)
  return { ...(await faults.start()), ...faults }
}

export function faultsIn(context: TestContext, home: Home): Faults {
  const library = compiled(context)
  const file = join(home.dir, 'faults')
  writeFileSync(file, Buffer.alloc(RULES * RULE_BYTES))
  const fd = openSync(file, 'r+')
  onTestFinished(() => closeSync(fd))
  const active: boolean[] = Array(RULES).fill(false)
  const uint = (at: number) => {
    const bytes = Buffer.alloc(4)
    readSync(fd, bytes, 0, 4, at)
    return bytes.readUInt32LE()
  }
  const activate = (rule: number, isActive: boolean) => {
    writeSync(fd, Buffer.from([isActive ? 1 : 0, 0, 0, 0]), 0, 4, rule * RULE_BYTES)
    active[rule] = isActive
  }
  const faulty = { ...home, env: { ...home.env, LD_PRELOAD: library, FAULTS_FILE: file } }
  return {
    home: faulty,
    start: () => startDaemon(faulty),
    fail: (rule) => {
      const at = active.indexOf(false)
      if (at === -1) throw new Error(`at most ${RULES} rules at once`)
      // Whole before it counts.
      writeSync(fd, bytesOf(rule), 0, RULE_BYTES, at * RULE_BYTES)
      activate(at, true)
      return {
        seen: () => uint(at * RULE_BYTES + SEEN),
        hits: () => uint(at * RULE_BYTES + HITS),
        heal: () => activate(at, false),
      }
    },
    heal: () => {
      for (let rule = 0; rule < RULES; rule++) activate(rule, false)
    },
    failed: () =>
      (existsSync(`${file}.log`) ? readFileSync(`${file}.log`, 'utf8').split('\n').slice(0, -1) : []).map(named),
  }
}

const threads = [undefined, 'main', 'other']

function bytesOf({ calls, first = 1, times = 1, error, thread, ...texts }: FaultRule): Buffer {
  const bytes = Buffer.alloc(RULE_BYTES)
  const mask = [calls].flat().reduce((sum, call) => sum | (1 << CALLS.indexOf(call)), 0)
  const number = error === undefined || error === 'kill' ? 0 : constants.errno[error]
  const fields = [
    0,
    mask,
    first,
    times === 'lasting' ? 0 : times,
    number,
    error === 'kill' ? 1 : 0,
    0,
    0,
    threads.indexOf(thread),
  ]
  for (const [n, field] of fields.entries()) bytes.writeUInt32LE(field, 4 * n)
  for (const [name, [start, room]] of Object.entries(TEXTS)) {
    const text = texts[name as keyof typeof TEXTS] ?? ''
    if (Buffer.byteLength(text) >= room) throw new Error(`${name} is longer than ${room - 1} bytes: ${text}`)
    bytes.write(text, start)
  }
  return bytes
}

const nameOf = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]))

function named(line: string): string {
  const [call, number, ...path] = line.split(' ')
  return [call, nameOf.get(Number(number)) ?? 'kill', ...path].join(' ')
}

/** Once for all tests of a run. */
function compiled(context: TestContext): string {
  if (process.platform !== 'linux') context.skip('only on Linux')
  needPrograms(context, 'cc')
  const library = join(inject('packageRoot'), 'faults.so')
  if (existsSync(library)) return library
  const mine = `${library}.${process.pid}`
  const source = join(projectRoot, 'test/support/faults.c')
  execFileSync('cc', ['-Wall', '-Werror', '-O2', '-shared', '-fPIC', '-o', mine, source, '-ldl'])
  renameSync(mine, library)
  return library
}
