import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openDatabases } from '../../daemon/db/databases.ts'
import { createTouched } from '../../daemon/sessions/sessions.ts'
import { makeHome } from '../support/home.ts'

it('counts sessions that were used since, without the one that asks and without what only sub-agents said', () => {
  const store = openDatabases(join(makeHome().dir, 'state'), 0)
  onTestFinished(() => store.close())
  const db = store.index()
  const touched = createTouched(store.index)
  const file = db.prepare(
    `INSERT INTO files (harness, root, path, born, cursor, known) VALUES ('h', '/r', ?, 0, '{}', '{}')`,
  )
  const session = db.prepare(`INSERT INTO sessions (harness, session, project, last_at) VALUES ('h', ?, ?, ?)`)
  const message =
    db.prepare(`INSERT INTO messages (session, file, offset, length, uid, sub_agent, at, said_by, starts_turn, tool_calls)
    VALUES (?, ?, 0, 1, ?, ?, ?, 'person', 1, 0)`)
  const add = (id: string, project: string, at: number, subAgent = '', lastAt = at) => {
    const row = session.run(id, project, lastAt).lastInsertRowid
    const path = file.run(`/r/${id}.jsonl`).lastInsertRowid
    message.run(row, path, `${id}-1`, subAgent, at)
    return row
  }
  add('old', '/p', 100)
  add('one', '/p', 201)
  add('two', '/p', 300)
  add('elsewhere', '/q', 300)
  // Begun before, and only its sub-agent has said something since.
  const row = add('waiting', '/p', 150, '', 400)
  message.run(row, 1, 'sub-1', 'agent-1', 400)
  const since = { projects: ['/p'], sinceMs: 200 }
  expect(touched.count(since)).toBe(2)
  expect(touched.count({ ...since, sinceMs: 201 })).toBe(1)
  expect(touched.count({ ...since, projects: ['/p', '/q'] })).toBe(3)
  expect(touched.count({ ...since, except: { harness: 'h', sessionId: 'two' } })).toBe(1)
  expect(touched.count({ ...since, except: { harness: 'other', sessionId: 'two' } })).toBe(2)
  expect(touched.list(since, 1)).toEqual([{ harness: 'h', id: 'two', lastAt: 300, paths: ['/r/two.jsonl'] }])
})
