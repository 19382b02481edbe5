/** A home in which one memory has left its words in every place where words are kept, among memories that stay. */
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { listBackups } from '../../daemon/db/backup.ts'
import { storeLayout } from '../../daemon/db/database.ts'
import { openDatabases } from '../../daemon/db/databases.ts'
import { createJournal, type NewChange } from '../../daemon/memory/journal.ts'
import { createTombstones } from '../../daemon/memory/tombstones.ts'
import { overwritePage } from './damage.ts'
import { type Home, makeHome } from './home.ts'
import { topic } from './memory.ts'

export const FILE = 'project_nameword.md'

/** One for each place. */
export const words = [
  'nameword',
  'titleword',
  'hookword',
  'bodyword',
  'olderword',
  'evidenceword',
  'reasonword',
  'quoteword',
  'promptword',
  'tombword',
]

const BODY = 'The vault opens with bodyword and quoteword.'

export type Ground = ReturnType<typeof makeGround>

/** The state as a daemon that has stopped left it; `fillers` makes the databases large. */
export function makeGround({ fillers = 20 }: { fillers?: number } = {}) {
  const home = makeHome()
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const dir = join(home.dir, '.claude', 'projects', cwd.replace(/[^A-Za-z0-9]/g, '-'), 'memory')
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const layout = storeLayout(home.places.stateDir)
  const others = Array.from({ length: fillers }, (_, n) => `other_${n}.md`)
  return { home, cwd, dir, layout, others, seed: () => seed(home, dir, others), copies: () => makeCopies(home) }
}

function seed(home: Home, dir: string, others: readonly string[]): void {
  const store = openDatabases(home.places.stateDir, Date.now())
  const journal = createJournal(store.history)
  const files = new Map<string, string>()
  const write = (file: string, text: string, more: Partial<NewChange> = {}): NewChange => {
    const change = { ...changeOf(dir, file, files.get(file), text), ...more }
    files.set(file, text)
    return change
  }
  const pointers = others.map((file) => `- [Other](${file}) — What is known of it\n`).join('')
  journal.append([
    ...others.map((file, n) => write(file, topic(`${file} says ${n}. `.repeat(60)))),
    write('MEMORY.md', pointers),
    write(FILE, topic('It opened with olderword.', 'Titleword'), {
      reason: 'because of reasonword',
      evidence: [{ sessionId: 's', messageIds: ['m'], excerpt: 'I said evidenceword', at: '2026-01-01T00:00:00Z' }],
    }),
    write('MEMORY.md', `${pointers}- [Titleword](${FILE}) — hookword\n`),
    write(FILE, topic(BODY, 'Titleword')),
    write('quoting.md', topic('Something else that stays.', 'Quoting'), {
      evidence: [{ sessionId: 's', messageIds: ['m'], excerpt: `I said: ${BODY}`, at: '2026-01-01T00:00:00Z' }],
    }),
  ])
  journal.settle()
  createTombstones(store.history).add({ at: 1, dir, file: FILE, excerpt: 'tombword' }, ['value'])
  store.history.prepare('INSERT INTO prompts VALUES (?, ?, ?, ?, ?)').run('h', 's', dir, 1, 'promptword')
  for (const [file, text] of files) writeFileSync(join(dir, file), text)
  store.close()
}

function changeOf(dir: string, file: string, before: string | undefined, after: string): NewChange {
  const version = (text: string) => ({ hash: createHash('sha256').update(text).digest('hex'), text })
  return {
    at: Date.now(),
    dir,
    file,
    op: before === undefined ? 'create' : 'update',
    actor: 'user',
    reason: 'written',
    runId: undefined,
    before: before === undefined ? undefined : version(before),
    after: version(after),
    undoable: true,
    evidence: [],
  }
}

/** Two more backups, a sound database that was set aside, and a damaged one. There must be a backup already. */
function makeCopies({ places }: Home): { damaged: string } {
  const layout = storeLayout(places.stateDir)
  const [backup = ''] = listBackups(layout.backups)
  mkdirSync(layout.corrupt, { recursive: true, mode: 0o700 })
  const damaged = join(layout.corrupt, 'history-2026-01-02T000000000Z.db')
  for (const copy of [
    join(layout.backups, 'history-2026-01-01.db'),
    join(layout.backups, 'history-schema-2.db'),
    join(layout.corrupt, 'history-2026-01-01T000000000Z.db'),
    damaged,
  ])
    copyFileSync(backup, copy)
  overwritePage(damaged, 1)
  return { damaged }
}
