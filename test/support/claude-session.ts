/** A Claude Code transcript that grows as a session does, in a project of its own HOME. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Home } from './home.ts'
import { append } from './transcripts.ts'

export function claudeSession(home: Home, id = 'session-1', project = 'project', beganMs = Date.now() - 60_000) {
  const cwd = join(home.dir, project)
  mkdirSync(join(cwd, '.git'), { recursive: true })
  const slug = cwd.replace(/[^A-Za-z0-9]/g, '-')
  const file = join(home.dir, '.claude', 'projects', slug, `${id}.jsonl`)
  const memories = join(home.dir, '.claude', 'projects', slug, 'memory')
  let count = 0
  let last: string | null = null
  let clock = beganMs
  const line = (type: string, message: object, more: object = {}) => {
    const uuid = `${id}-${++count}`
    const parentUuid = last
    last = uuid
    clock += 10
    const timestamp = new Date(clock).toISOString()
    return {
      parentUuid,
      isSidechain: false,
      sessionId: id,
      cwd,
      version: '2.1.0',
      type,
      message,
      uuid,
      timestamp,
      ...more,
    }
  }
  const person = (text: string) => line('user', { role: 'user', content: text })
  const agent = (content: object[], stop: string) =>
    line('assistant', { id: `m-${count}`, role: 'assistant', model: 'claude', content, stop_reason: stop })
  const answer = (text: string) => agent([{ type: 'text', text }], 'end_turn')
  const call = (name: string, input: object, result = 'ok') => {
    const called = `t-${count}`
    return [
      agent([{ type: 'tool_use', id: called, name, input }], 'tool_use'),
      line('user', { role: 'user', content: [{ type: 'tool_result', tool_use_id: called, content: result }] }),
    ]
  }
  return {
    cwd,
    file,
    memories,
    id,
    person,
    answer,
    call,
    /** Writes lines as they are. */
    write: (...lines: object[]) => append(file, ...lines),
    /** A whole turn. */
    say: (text: string, said = 'Done.') => append(file, person(text), answer(said)),
  }
}
