/** What the memories of a project are, in files, index and journal, and whether that is what it should be. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Ground, Operation } from './fault-operations.ts'
import { topic } from './memory.ts'

type Memories = { files: Record<string, string>; changes: string[] }
/** Of the project, and of the one that an operation moves them to. */
export type State = { here: Memories; there?: Memories }

const SETTLED = 'zz_settled.md'

/** The next success in the same directory: what a failed compensation has left open is finished by then. */
export async function settle(ground: Ground, { goal }: Operation, isDone: boolean): Promise<void> {
  const cwd = isDone && goal ? goal(ground) : ground.cwd
  await ground.client.putMemory({ cwd, file: SETTLED, content: topic('Settled.') })
}

export async function stateOf(ground: Ground, { goal }: Operation): Promise<State> {
  const { dir, cwd } = ground
  const here = await memoriesOf(ground, cwd, dir)
  return goal
    ? { here, there: await memoriesOf(ground, goal(ground), dir.replace(cwdSlug(cwd), cwdSlug(goal(ground)))) }
    : { here }
}

const cwdSlug = (cwd: string) => cwd.replace(/[^A-Za-z0-9]/g, '-')

/** Of changes what took effect, oldest first. */
async function memoriesOf({ client }: Ground, cwd: string, dir: string): Promise<Memories> {
  const { items } = await client.changes({ cwd, limit: '999' })
  const effective = items.filter(({ op }) => op !== 'refused').reverse()
  return { files: filesIn(dir), changes: effective.map(({ op, file, afterHash }) => `${op} ${file} ${afterHash}`) }
}

function filesIn(dir: string): Memories['files'] {
  const all = existsSync(dir) ? readdirSync(dir, { recursive: true, encoding: 'utf8' }) : []
  const names = all.filter((name) => name.endsWith('.md')).sort()
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(dir, name), 'utf8')]))
}

/** Nothing where it is one of the expected states, and all three agree. */
export function problemsOf(found: State, ...expected: readonly State[]): string[] {
  const problems = [found.here, ...(found.there ? [found.there] : [])].flatMap(disagreements)
  const differences = expected.map((state) => differenceOf(found, state))
  return differences.includes('') ? problems : [...problems, differences[0] ?? '']
}

function differenceOf(found: State, expected: State): string {
  const [are, should] = [partsOf(found), partsOf(expected)]
  const list = (what: string, some: string[]) => (some.length > 0 ? [`${what}: ${some.join(', ')}`] : [])
  const missing = should.filter((part) => !are.includes(part))
  const extra = are.filter((part) => !should.includes(part))
  return [...list('missing', missing), ...list('too much', extra)].join('; ')
}

/** Without what settled it, and with no word of how the index was journaled: its lines come and go with others. */
function partsOf({ here, there }: State): string[] {
  const parts = (where: string, { files, changes }: Memories) => [
    ...Object.entries(files).flatMap(([file, text]) => {
      const rest = file.endsWith('MEMORY.md') ? text.replace(/^.*zz_settled\.md.*\n/m, '') : text
      return file === SETTLED || rest === '' ? [] : [`${where}${file} (${hashOf(rest).slice(0, 6)})`]
    }),
    ...changes
      .filter((change) => !/ (?:zz_settled|MEMORY)\.md /.test(change))
      .map((change) => `${where}journal ${short(change)}`),
  ]
  return [...parts('', here), ...(there ? parts('moved ', there) : [])]
}

const short = (change: string) => change.replace(/[0-9a-f]{58}$/, '')

function disagreements({ files, changes }: Memories): string[] {
  const names = Object.keys(files).filter((name) => !name.endsWith('MEMORY.md'))
  const lines = [...(files['MEMORY.md'] ?? '').matchAll(/\]\(([^)]+)\)/g)].map(([, file]) => file ?? '')
  const tips = new Map(changes.map((change) => change.split(' ').slice(1) as [string, string]))
  const alive = [...tips].filter(([file, hash]) => hash !== 'null' && !file.endsWith('MEMORY.md'))
  return [
    ...names.filter((name) => !lines.includes(name)).map((name) => `no index line: ${name}`),
    ...lines.filter((line) => !names.includes(line)).map((line) => `an index line without its file: ${line}`),
    ...lines.filter((line, at) => lines.indexOf(line) < at).map((line) => `two index lines: ${line}`),
    ...names.filter((name) => tips.get(name) !== hashOf(files[name] ?? '')).map((name) => `not as journaled: ${name}`),
    ...alive.filter(([file]) => !names.includes(file)).map(([file]) => `journaled and not there: ${file}`),
  ]
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
