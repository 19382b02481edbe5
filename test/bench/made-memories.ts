/** Memories of a made-up project, each about something else, and questions to them: always the same ones. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { routeTable } from '../../schema/route-table.ts'
import { postFor } from './connection.ts'
import type { Home } from './daemon.ts'

export const SUBJECTS =
  'cache session token queue invoice webhook migration replica dashboard linter gateway scheduler parser upload refund cart search index backup shard'.split(
    ' ',
  )
export const QUALITIES =
  'expired nightly flaky partial signed nested stale concurrent encrypted truncated idempotent versioned throttled orphaned pinned'.split(
    ' ',
  )
const ACTIONS =
  'renewed rounded merged retried rejected rotated paginated compressed reviewed deployed mirrored validated archived sampled'.split(
    ' ',
  )

export const pick = (words: readonly string[], n: number) => words[n % words.length] as string

/** Every memory has a word of its own, as real ones have names. */
function memory(n: number) {
  const subject = pick(SUBJECTS, n)
  const quality = pick(QUALITIES, Math.floor(n / 3))
  const action = pick(ACTIONS, Math.floor(n / 7))
  const own = `unit${n.toString(36)}`
  return {
    file: `project_${subject}_${n}.md`,
    name: `The ${quality} ${subject} of ${own}`,
    description: `Why a ${quality} ${subject} is ${action} before it reaches ${own}`,
    body: `A ${quality} ${subject} is ${action} first.\n\n**Why:** ${own} failed with a ${pick(QUALITIES, n + 4)} ${pick(SUBJECTS, n + 9)}.\n**How to apply:** ask ${own} before it is ${pick(ACTIONS, n + 5)}.\n`,
  }
}

export function memoryDirOf(home: Home, cwd: string): string {
  return join(home.dir, '.claude/projects', cwd.replaceAll(/[^A-Za-z0-9]/g, '-'), 'memory')
}

export function makeMemories(home: Home, cwd: string, count: number): void {
  const dir = memoryDirOf(home, cwd)
  mkdirSync(cwd, { recursive: true })
  mkdirSync(dir, { recursive: true })
  for (let n = 0; n < count; n++) {
    const { file, name, description, body } = memory(n)
    const text = `---\nname: ${name}\ndescription: ${description}\ntype: project\n---\n\n${body}`
    writeFileSync(join(dir, file), text)
  }
}

/** As people ask: in other forms of the words, with words of no weight among them. */
export function questions(cwd: string): Buffer[] {
  return Array.from({ length: 50 }, (_, n) => {
    const { subject, quality } = { subject: pick(SUBJECTS, n * 3), quality: pick(QUALITIES, n) }
    const query = `how do we handle ${quality} ${subject}s when unit${(n * 3).toString(36)} is being ${pick(ACTIONS, n)}?`
    return postFor(routeTable.recall, { cwd, query, mode: 'local' })
  })
}
