/**
 * Operations under faults, case by case: which call fails, the how manyth of its kind, once or until it is healed. What was
 * acknowledged is there; what was refused has changed nothing, and can be done afterwards. A question is answered truly or refused.
 * All of that holds after the next start as well.
 */
import { writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { TestContext } from 'vitest'
import { connectAs } from './connect-as.ts'
import { type Ground, makeGround, type Operation } from './fault-operations.ts'
import { hashOf, problemsOf, type State, settle, stateOf } from './fault-oracle.ts'
import { CALLS, type ErrorName, type FaultRule, type FileCall, faultsIn } from './faults.ts'
import { makeHome } from './home.ts'

/** `disk`: all of them, and what else the daemon has in the home. */
const PLACES = ['memory', 'transcript', 'history', 'index', 'disk'] as const
type Place = (typeof PLACES)[number]

export type Case = {
  operation: Operation
  place: Place
  call: FileCall
  error: ErrorName | 'kill'
  first: number
  times: 1 | 'lasting'
}
type Verdict = { name: string; row: string; hits: number; problems: string[] }

/** What a disk, a process or a folder answers to each call when it cannot; they take turns. */
const ERRORS: Record<FileCall, readonly ErrorName[]> = {
  'open-read': ['EIO', 'EMFILE', 'EACCES', 'ENFILE'],
  'open-write': ['ENOSPC', 'EROFS', 'EMFILE', 'EACCES', 'EDQUOT', 'EIO'],
  read: ['EIO'],
  write: ['ENOSPC', 'EIO', 'EDQUOT'],
  sync: ['EIO', 'ENOSPC', 'EDQUOT'],
  rename: ['EIO', 'ENOSPC', 'EROFS', 'EACCES', 'EDQUOT'],
  link: ['EIO', 'ENOSPC', 'EROFS', 'EDQUOT'],
  unlink: ['EIO', 'EROFS', 'EACCES'],
  mkdir: ['ENOSPC', 'EROFS', 'EACCES', 'EDQUOT', 'EIO'],
  rmdir: ['EIO', 'EROFS', 'EACCES'],
  truncate: ['EIO', 'ENOSPC'],
  close: ['EIO', 'EDQUOT'],
  stat: ['EIO', 'EACCES'],
  list: ['EIO', 'EMFILE', 'EACCES'],
  change: ['EROFS', 'EACCES', 'EIO'],
}
/** Of each call in a place so many positions at most. */
const MOST: Record<Place, number> = { memory: 8, transcript: 8, history: 4, index: 2, disk: 4 }
/** Each home is begun anew by then, for a daemon watches the directories used last. */
const CASES_PER_HOME = 60
/** What could not be looked at is looked at again by then. */
const SWEEP_SECONDS = 5
/** Such a refusal may be followed by the change: the next success, or the next start, finishes what could not be taken back. */
const UNDECIDED = /may still happen/

/** Counts the calls of each operation first: each of them is two cases. */
export async function faultTable(context: TestContext, operations: readonly Operation[]) {
  const world = await openWorld(context)
  const done = new Map<Operation, State>()
  const cases: Case[] = []
  const counted = async (operation: Operation) => {
    const ground = await world.ground(operation)
    const counts = PLACES.flatMap((place) =>
      CALLS.map((call) => ({ place, call, fault: world.faults.fail({ calls: call, ...placed(place, ground) }) })),
    )
    if (operation.isLate) await attempt(() => operation.act(ground))
    await operation.act(ground)
    world.faults.heal()
    return { ground, counts: counts.map(({ fault, ...one }) => ({ ...one, seen: fault.seen() })) }
  }
  for (const operation of operations) {
    // Twice, for what is done once in a process, or meanwhile by chance, does not come again.
    const [other, { ground, counts }] = [await counted(operation), await counted(operation)]
    for (const [n, { place, call, seen }] of counts.entries())
      cases.push(...casesOf(operation, place, call, Math.min(seen, other.counts[n]?.seen ?? 0, MOST[place])))
    if (!operation.isWrite) continue
    await settle(ground, operation, true)
    done.set(operation, await stateOf(ground, operation))
  }
  await world.end()

  const run = async (some: readonly Case[]): Promise<Verdict[]> => {
    const verdicts: Verdict[] = []
    for (let at = 0; at < some.length; at += CASES_PER_HOME)
      verdicts.push(...(await runInOneHome(context, some.slice(at, at + CASES_PER_HOME), done)))
    return verdicts
  }
  return { cases, run }
}

function casesOf(operation: Operation, place: Place, call: FileCall, count: number): Case[] {
  return Array.from({ length: count }, (_, n) => n + 1).flatMap((first) =>
    ([1, 'lasting'] as const).map((times, n): Case => {
      const error = ERRORS[call][(first + n) % ERRORS[call].length] as ErrorName
      return { operation, place, call, error, first, times }
    }),
  )
}

export function nameOf({ operation, place, call, error, first, times }: Case): string {
  return `${operation.name}: ${call} ${error} in ${place}, from number ${first}, ${times === 1 ? 'once' : times}`
}

/** In one line. */
export function totals(verdicts: readonly Verdict[]): string {
  const failed = verdicts.filter(({ problems }) => problems.length > 0).length
  const unmet = verdicts.filter(({ hits }) => hits === 0).length
  return `${verdicts.length} tried, ${failed} failed${unmet > 0 ? `, ${unmet} met no call` : ''}`
}

export function problemsIn(verdicts: readonly Verdict[]): string[] {
  return verdicts.flatMap(({ name, problems }) => problems.map((problem) => `${name}: ${problem}`))
}

/** A daemon in a home of its own. */
async function openWorld(context: TestContext) {
  const home = makeHome()
  writeFileSync(home.places.configFile, JSON.stringify({ sweepSeconds: SWEEP_SECONDS }), { mode: 0o600 })
  const faults = faultsIn(context, home)
  let daemon = await faults.start()
  let hasEnded = false
  let grounds = 0
  const begin = async () => {
    daemon = await faults.start()
    follow()
  }
  const follow = () => {
    const mine = daemon
    hasEnded = false
    void mine.exited.then(() => {
      hasEnded = mine === daemon
    })
  }
  follow()
  const client = connectAs(home, 'user')
  return {
    faults,
    ground: async (operation: Operation) => {
      const ground = await makeGround(client, home, `p${grounds++}`)
      await operation.prepare?.(ground)
      return ground
    },
    hasEnded: () => hasEnded,
    ended: () => daemon.exited,
    begin,
    restart: async () => {
      await daemon.stop()
      await begin()
    },
    end: () => daemon.kill9(),
  }
}

type World = Awaited<ReturnType<typeof openWorld>>

async function runInOneHome(context: TestContext, cases: readonly Case[], done: ReadonlyMap<Operation, State>) {
  const world = await openWorld(context)
  const ends: Awaited<ReturnType<typeof runOne>>[] = []
  for (const each of cases) ends.push(await runOne(world, each, done))
  for (const { verdict, compare } of ends) verdict.problems.push(...(await compare()))
  await world.restart()
  for (const { verdict, lookAgain } of ends) {
    const later = await lookAgain()
    const isNew = (problem: string) => !verdict.problems.includes(problem)
    verdict.problems.push(...later.filter(isNew).map((problem) => `after a start: ${problem}`))
  }
  await world.end()
  return ends.map(({ verdict }) => verdict)
}

async function runOne(world: World, each: Case, done: ReadonlyMap<Operation, State>) {
  const { operation, place, call, error, first, times } = each
  const ground = await world.ground(operation)
  const before = operation.isWrite ? await stateOf(ground, operation) : undefined
  const after = done.get(operation)
  const fault = world.faults.fail({ calls: call, ...placed(place, ground), error, first, times })
  const outcome = await attempt(() => operation.act(ground))
  fault.heal()

  const problems: string[] = []
  const isKilled = error === 'kill' && fault.hits() > 0
  if (isKilled) await world.ended()
  if (world.hasEnded()) {
    if (!isKilled) problems.push('the daemon ended')
    await world.begin()
  }
  if (!isKilled && /^(INTERNAL|UNREACHABLE|\?)/.test(outcome.refusal ?? '')) problems.push(outcome.refusal ?? '')
  let lookAgain = async (): Promise<string[]> => []
  let compare = async (): Promise<string[]> => []
  if (before && after) {
    const isUndecided = isKilled || UNDECIDED.test(outcome.refusal ?? '')
    const expected = isUndecided ? [before, after] : [outcome.refusal ? before : after]
    problems.push(...(await changeProblems(ground, operation, outcome, expected, after)))
    const ends = isUndecided ? expected : [after]
    if (problems.length === 0) lookAgain = async () => problemsOf(await stateOf(ground, operation), ...ends)
  } else {
    compare = async () => {
      const healthy = await attempt(() => operation.act(ground))
      // A daemon that has kept nothing says the same.
      lookAgain = async () => answerProblems(healthy, await attempt(() => operation.act(ground)))
      return answerProblems(outcome, healthy, error === 'EACCES' ? operation.parts : undefined)
    }
    if (!operation.isLate) {
      problems.push(...(await compare()))
      compare = async () => []
    }
  }
  const verdict: Verdict = { name: nameOf(each), row: `${operation.name}, ${call}`, hits: fault.hits(), problems }
  return { verdict, compare: () => compare(), lookAgain: () => lookAgain() }
}

/** One of the states that are expected; what was refused can be done once the disk is well. */
async function changeProblems(
  ground: Ground,
  operation: Operation,
  { refusal }: Outcome,
  expected: readonly State[],
  after: State,
): Promise<string[]> {
  const isOpen = expected.length > 1
  if (isOpen) await operation.calm?.(ground)
  // Of a move that may have happened it is not known where memories are.
  const settled = isOpen && operation.goal ? {} : await attempt(() => settle(ground, operation, !refusal))
  const found = problemsOf(await stateOf(ground, operation), ...expected)
  const problems = found.map((problem) => `${problem} (${refusal ?? 'acknowledged'})`)
  if (settled.refusal) problems.unshift(`the next write: ${settled.refusal}`)
  if (refusal === undefined || isOpen || problems.length > 0) return problems
  const repeated = await attempt(() => operation.act(ground))
  return repeated.refusal ? [`and again: ${repeated.refusal}`] : problemsOf(await stateOf(ground, operation), after)
}

/** The truth, which is told once the disk is well, or a refusal. */
function answerProblems({ answer, refusal }: Outcome, healthy: Outcome, parts?: Operation['parts']): string[] {
  if (healthy.refusal) return [`once healed: ${healthy.refusal}`]
  if (refusal || isDeepStrictEqual(answer, healthy.answer)) return []
  const all = parts?.(healthy.answer)
  const isLacking = parts?.(answer).every((part) => all?.some((each) => isDeepStrictEqual(part, each)))
  return isLacking ? [] : [`answered ${shortly(answer)} in place of ${shortly(healthy.answer)}`]
}

function placed(place: Place, { dir, cwd }: Ground): Pick<FaultRule, 'within' | 'ends' | 'except'> {
  if (place === 'memory') return { within: dir.split('/').slice(-2).join('/') }
  if (place === 'transcript') return { within: `${basename(cwd)}/`, ends: '.jsonl' }
  if (place === 'disk') return { within: `${dirname(cwd)}/`, except: '/logs/' }
  return { within: place === 'history' ? '/history.db' : '/index.db' }
}

type Outcome = { answer?: unknown; refusal?: string }

async function attempt(act: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { answer: await act() }
  } catch (error) {
    const { code = '?', message } = error as { code?: string; message: string }
    return { refusal: `${code} ${message.replace(/\/tmp\/\S+|(?<= ref ).*/g, '…')}` }
  }
}

function shortly(answer: unknown): string {
  const text = JSON.stringify(answer)
  return text.length > 120 ? `${text.slice(0, 60)} … (${text.length} characters, ${hashOf(text).slice(0, 6)})` : text
}
