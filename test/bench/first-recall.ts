/** The first question after a start: its memories were known to the daemon before, and their words are in index.db. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { findPlaces } from '../../schema/rendezvous.ts'
import { routeTable } from '../../schema/route-table.ts'
import { openConnection, postFor } from './connection.ts'
import type { Home } from './daemon.ts'
import { makeMemories, memoryDirOf } from './made-memories.ts'
import { quantile } from './rounds.ts'
import type { Row } from './row.ts'
import type { Workbench } from './workbench.ts'

const STARTS = { full: 20, quick: 5 }
const SETTLED_MS = 3_000
const HOOK = { ...routeTable.hook, url: '/v1/hooks/claude-code' }

export const firstRecall: Row<'few' | 'quoted' | 'many' | 'hooks'> = {
  name: 'first-recall',
  what: 'first recall after a start (200 memories, the same quoted, 10,000), and first hooks that give their memory',
  yardstick: undefined,
  goals: {
    few: { unit: 'µs', atMost: 20_000 },
    quoted: { unit: 'µs', atMost: 20_000 },
    many: { unit: 'µs', atMost: 150_000 },
    hooks: { unit: '%', atLeast: 100 },
  },

  run: async (bench) => {
    const few = await firstOf(bench, 200)
    const quoted = await firstOf(bench, 200, true)
    const many = await firstOf(bench, 10_000)
    const given = [few, quoted, many].flatMap((each) => each.given)
    const median = ({ times }: { times: number[] }) => ({ value: 1_000 * quantile(times, 0.5) })
    return {
      figures: {
        few: median(few),
        quoted: median(quoted),
        many: median(many),
        hooks: { value: (100 * given.filter(Boolean).length) / given.length },
      },
      details: {
        fewReadMs: few.readMs,
        manyReadMs: many.readMs,
        fewWorstMs: Math.max(...few.times),
        manyWorstMs: Math.max(...many.times),
      },
    }
  },
}

async function firstOf(bench: Workbench, memories: number, isQuoted = false) {
  const home = bench.home()
  const cwd = join(home.dir, 'project')
  makeMemories(home, cwd, memories)
  const dir = memoryDirOf(home, cwd)
  if (isQuoted) for (const file of readdirSync(dir)) quote(join(dir, file))
  const kept = await untilKept(bench, home, cwd)
  const times: number[] = []
  const given: boolean[] = []
  for (let n = 0; n < STARTS[bench.pace]; n++) {
    const [, subject, number] = /_(\w+)_(\d+)/.exec(kept[(n * 37) % kept.length] ?? '') ?? []
    const query = `how do we handle the ${subject} of unit${Number(number).toString(36)}?`
    // One start for a recall, one for a hook: each is the first.
    const begun = await firstAnswer(bench, home, postFor(routeTable.recall, { cwd, query, mode: 'local' }))
    times.push(begun.ms)
    const hook = { hook_event_name: 'UserPromptSubmit', session_id: `s${n}`, cwd, prompt: query }
    const { text } = await firstAnswer(bench, home, postFor(HOOK, hook))
    given.push(begun.text.includes('"content"') && text.includes('Memory (project)'))
  }
  const begunMs = performance.now()
  for (const file of readdirSync(dir)) readFileSync(join(dir, file), 'utf8').split(/\W+/)
  return { times, given, readMs: performance.now() - begunMs }
}

async function firstAnswer(bench: Workbench, home: Home, request: Buffer) {
  const daemon = await bench.daemon(home)
  const connection = await openConnection(daemon.socketPath)
  const begunMs = performance.now()
  // 204: the hook has nothing to say.
  const text = await connection.ask(request).then(String, () => '')
  const ms = performance.now() - begunMs
  connection.close()
  await daemon.stop()
  return { text, ms }
}

/** Until index.db has what the daemon keeps there; returns the files, of a very large directory not all. */
async function untilKept(bench: Workbench, home: Home, cwd: string): Promise<string[]> {
  const daemon = await bench.daemon(home)
  const connection = await openConnection(daemon.socketPath)
  const index = new Database(join(findPlaces(home.env).stateDir, 'index.db'), { readonly: true })
  const kept = index.prepare('SELECT (SELECT count(*) FROM memory_files), (SELECT count(*) FROM memories)').raw()
  for (let before = ''; ; ) {
    await connection.ask(postFor(routeTable.recall, { cwd, query: 'how do we handle a session?', mode: 'local' }))
    await new Promise((resolve) => setTimeout(resolve, SETTLED_MS))
    const now = String(kept.get())
    if (now === before && !now.startsWith('0')) break
    before = now
  }
  const files = index.prepare('SELECT file FROM memories ORDER BY file').pluck().all() as string[]
  index.close()
  connection.close()
  await daemon.stop()
  return files
}

function quote(path: string): void {
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replace(/^(name|description): (.*)$/gm, '$1: "$2"'))
}
