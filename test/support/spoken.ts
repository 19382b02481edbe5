/** Transcripts with their rows and words in an index, filled through the real adapters, and a search over them. */
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createProjects } from '../../daemon/projects/projects.ts'
import { redact } from '../../daemon/secrets/redact.ts'
import { createSearch } from '../../daemon/sessions/search.ts'
import { indexedText } from '../../daemon/transcripts/digest.ts'
import { adapterFor } from '../../daemon/transcripts/formats/format.ts'
import { createMessageWords } from '../../daemon/transcripts/message-index.ts'
import { testCore } from './core.ts'
import { projectRoot } from './sources.ts'

export type Told = { id: number; uid: string; text: string }
export type Telling = { harness?: string; session?: string; project?: string }

const FIXTURES = join(projectRoot, 'test/fixtures/transcripts')
const harnessOf: Record<string, string> = { c: 'claude-code', g: 'gemini', p: 'pi' }

export async function spokenRig() {
  const { core, home } = await testCore()
  const { clock, db: store } = core
  const project = join(home.dir, 'project')
  mkdirSync(project)
  const projects = createProjects(core)
  const words = createMessageWords(store.index())
  const told: Told[] = []

  const row = (table: string, values: Record<string, unknown>): number => {
    const names = Object.keys(values)
    const sql = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map((name) => `@${name}`).join(', ')})`
    return Number(store.index().prepare(sql).run(values).lastInsertRowid)
  }
  const idOf = (table: string, where: Record<string, unknown>): number => {
    const tests = Object.keys(where).map((name) => `${name} = @${name}`)
    const found = store
      .index()
      .prepare(`SELECT id FROM ${table} WHERE ${tests.join(' AND ')}`)
      .pluck()
      .get(where)
    return found === undefined ? row(table, where) : Number(found)
  }

  /** Reads a transcript as ingestion will: every message a row, its text without credentials put. */
  const take = async (path: string, { harness = 'generic', session = path, project: of = project }: Telling = {}) => {
    // One transaction, as in ingestion: by itself every row would wait for the disk.
    store.index().exec('BEGIN')
    const file = idOf('files', { harness, path, root: dirname(path), cursor: '{}', known: '{}', born: 0 })
    const sessionId = idOf('sessions', { harness, session, project: of })
    let offset = 0
    for (const line of readFileSync(path, 'utf8').split('\n')) {
      const length = Buffer.byteLength(line)
      for (const fact of adapterFor(harness).read(line)) {
        if (fact.kind !== 'message') continue
        const uid = fact.id ?? `${path}:${offset}`
        const place = { session: sessionId, file, offset, length, uid, at: fact.at ?? null, said_by: fact.by }
        const rest = { sub_agent: fact.subAgent ?? '', starts_turn: 0, tool_calls: fact.toolCalls.length }
        const { text } = await redact(indexedText(fact))
        const known = store.index().prepare('SELECT 1 FROM messages WHERE session = ? AND uid = ?').get(sessionId, uid)
        if (known || text === '') continue
        const id = row('messages', { ...place, ...rest })
        words.put([{ id, text }])
        told.push({ id, uid, text })
      }
      offset += length + 1
    }
    store.index().exec('COMMIT')
  }

  /** A transcript in the generic form, one line per message. */
  const say = async (lines: readonly object[], telling: Telling = {}) => {
    const path = join(home.dir, 'said', `${telling.session ?? 'one'}.jsonl`)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, '')
    for (const line of lines) appendFileSync(path, `${JSON.stringify(line)}\n`)
    await take(path, { session: 'one', ...telling })
    return path
  }

  const search = createSearch(core, projects)
  const caller = { actor: 'user', env: {} }
  const patient = new AbortController().signal
  const find = (q: string, at: { cwd?: string; limit?: number; signal?: AbortSignal } = {}) =>
    search(q, { cwd: project, caller, limit: 999, ...at, signal: () => at.signal ?? patient })
  const ids = async (q: string) => (await find(q)).items.map(({ messageId }) => messageId)
  return { home, project, projects, clock, store, words, told, take, say, find, ids }
}

/** Every recorded transcript, with the harness that wrote it. */
export function recordings(): { path: string; harness: string }[] {
  return readdirSync(FIXTURES, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.jsonl') && statSync(join(FIXTURES, name)).isFile())
    .map((name) => ({
      path: join(FIXTURES, name),
      harness: name.startsWith('codex') ? 'codex' : (harnessOf[name[0] ?? ''] ?? 'generic'),
    }))
}
