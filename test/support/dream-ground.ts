/** A project with memories that need to be put in order, and a scripted model that does it, or does worse. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { printTopic } from '../../daemon/memory/topic-file.ts'
import { type Home, makeHome } from './home.ts'
import { type Answer, calls, type Said, says } from './messages-api/answers.ts'
import { startMessagesApi } from './messages-api/start.ts'
import { memoryDirOf } from './writer.ts'

export type Files = Record<string, string>

const project = (name: string, body: string, description = `${name}, as it was told`) =>
  printTopic({ name, description, type: 'project', body })

const THINGS = ['billing', 'search', 'mail', 'export', 'login', 'reports', 'upload', 'audit', 'quota', 'invites']
const PLACES = ['frankfurt', 'dublin', 'oregon', 'mumbai']

/** Sixty memories: forty that are fine, and twenty with something planted. */
export function sixtyMemories(): { files: Files; index: string } {
  const files: Files = {}
  for (let n = 0; n < 40; n++) {
    const thing = `${THINGS[n % 10]}${Math.floor(n / 10)}`
    const place = PLACES[n % 4]
    files[`project_${thing}.md`] = project(
      `The ${thing} service`,
      `The ${thing} service runs in ${place} on port ${4000 + n} and belongs to team${n}.\n\n**Why:** contract ${900 + n} says so.`,
    )
  }
  // Said twice, to the letter or nearly.
  for (let n = 0; n < 5; n++) {
    const body = `Release train number ${n} leaves on the ${n + 3}rd because wagon${n} is full by then`
    files[`train_${n}.md`] = project(`Train ${n}`, body)
    files[`train_${n}_2.md`] = project(`Train ${n}`, n % 2 ? body : `The ${body.toLowerCase()}!`)
  }
  // Contradictions, the later word first.
  for (let n = 0; n < 3; n++) {
    files[`freeze_${n}.md`] = project(`Freeze ${n}`, `The code freeze of branch${n} begins on Monday after review${n}`)
    files[`freeze_${n}_old.md`] = project(`Old freeze ${n}`, `The code freeze of branch${n} begins on Friday`)
  }
  // Relative dates.
  for (let n = 0; n < 4; n++)
    files[`demo_${n}.md`] = project(`Demo ${n}`, `The demo for customer${n} is next Tuesday, said on 2026-03-0${n + 4}`)
  const lines = Object.keys(files).map((file) => `- [${file.replace('.md', '')}](${file}) — what is known of it\n`)
  lines.splice(10, 0, '- [Gone](gone_1.md) — was here once\n', '- [Gone too](gone_2.md) — was here too\n')
  lines.push(`- [train_0](train_0.md) — said twice\n`)
  lines[5] = `${(lines[5] ?? '').trimEnd()} ${'and on and on '.repeat(20)}\n`
  return { files, index: `# Memories\n\n${lines.join('')}` }
}

export function snapshot(dir: string): Files {
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'))
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(dir, name), 'utf8')]))
}

/** Where a project and its memories are, before any daemon has started. */
export function dreamGround(home: Home, { files, index } = sixtyMemories()) {
  const cwd = join(home.dir, 'project')
  mkdirSync(join(cwd, '.git'), { recursive: true })
  const dir = memoryDirOf(home, cwd)
  mkdirSync(dir, { recursive: true })
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, file)), { recursive: true })
    writeFileSync(join(dir, file), text)
  }
  writeFileSync(join(dir, 'MEMORY.md'), index)
  return { cwd, dir, before: snapshot(dir) }
}

type Call = { name: string; input: Record<string, unknown> }

/** Answers to dreams alone: whatever else is asked gets a plain word. */
export async function dreamModel(turns: (n: number, dir: string) => Answer | Call[]) {
  const api = await startMessagesApi()
  const home = makeHome({ ANTHROPIC_BASE_URL: api.url, ANTHROPIC_API_KEY: 'test-key' })
  api.script(({ body }) => {
    const text = JSON.stringify(body)
    const dir = /The memory directory is (.+?)\. The project/.exec(text)?.[1]
    if (dir === undefined) return says('Nothing to do.')
    // By what was said so far: a dream that a kill broke off begins anew.
    const n = body.messages.filter(({ role }) => role === 'assistant').length + 1
    const turn = turns(n, dir)
    return Array.isArray(turn) ? asCalls(turn, n) : turn
  })
  return { api, home }
}

function asCalls(asked: readonly Call[], turn: number): Said {
  return calls(...asked.map((call, n) => ({ id: `call_${turn}_${n}`, ...call })))
}

export const read = (file: string): Call => ({ name: 'Read', input: { file_path: file } })
export const write = (file: string, content: string): Call => ({
  name: 'Write',
  input: { file_path: file, content, reason: 'in order' },
})
export const remove = (file: string): Call => write(file, '')

/** What a good model does with the sixty: contradictions and dates by itself; the duplicates it leaves to the rules. */
export function goodDream(n: number): Answer | Call[] {
  const olds = [0, 1, 2].map((at) => `freeze_${at}_old.md`)
  const demos = [0, 1, 2, 3].map((at) => `demo_${at}.md`)
  if (n === 1) return [...olds, ...demos].map(read)
  if (n === 2)
    return [
      ...olds.map(remove),
      ...demos.map((file, at) => ({
        name: 'Edit',
        input: { file_path: file, old_string: 'is next Tuesday', new_string: `is on 2026-03-1${at}` },
      })),
    ]
  return says('Took three old freezes away and wrote four dates out.')
}
