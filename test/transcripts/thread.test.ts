import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openDatabases } from '../../daemon/db/databases.ts'
import { storeLayout } from '../../daemon/db/layout.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { isDiskTrouble } from '../../daemon/platform/disk.ts'
import { createThread } from '../../daemon/transcripts/thread.ts'
import type { Failed } from '../../daemon/transcripts/thread-messages.ts'
import { makeHome } from '../support/home.ts'

const program = new URL('../../daemon/transcripts/reader-worker.ts', import.meta.url)

it('a thread that cannot open the index tells why, so that the disk can be blamed', async () => {
  const { dir } = makeHome()
  const error = await new Promise<Failed>((onLost) => {
    const thread = createThread({
      program,
      // A folder, where a file should be.
      data: { indexFile: dir, backlogDays: 14 },
      clock: createClock(),
      privatePaths: () => [],
      onNews: () => {},
      onLost,
    })
    thread.read([{ harness: 'generic', root: dir, path: `${dir}/s.jsonl`, lane: 'live' }])
  })
  expect(error).toEqual({ message: 'unable to open database file', code: 'SQLITE_CANTOPEN' })
  expect(isDiskTrouble(error)).toBe(true)
})

it('one that goes on after a rest puts no term down twice; one that is begun anew knows of none', async () => {
  const { dir } = makeHome()
  const store = openDatabases(join(dir, 'state'), 0)
  onTestFinished(() => store.close())
  const path = join(dir, 's.jsonl')
  let onIdle = (_rest: () => void) => {}
  const clock = createClock()
  const thread = createThread({
    program,
    data: { indexFile: storeLayout(join(dir, 'state')).index, backlogDays: 14 },
    clock: {
      ...clock,
      after: (_ms, task) => {
        onIdle(task)
        return { stop: () => {} }
      },
    },
    privatePaths: () => [],
    onNews: () => {},
    onLost: (error) => expect.unreachable(error.message),
  })
  onTestFinished(() => thread.stop(AbortSignal.timeout(5_000)))
  const say = async (text: string) => {
    appendFileSync(path, `${JSON.stringify({ session: 's', role: 'user', text })}\n`)
    const idle = new Promise<() => void>((resolve) => {
      onIdle = resolve
    })
    thread.read([{ harness: 'generic', root: dir, path, lane: 'live' }])
    return idle
  }
  const terms = () => store.index().prepare('SELECT terms FROM term_blocks').pluck().all().join('\n').split('\n')

  const rest = await say('strawberry')
  rest()
  await say('strawberry plum')
  expect(terms()).toEqual(['strawberry', 'plum'])
  thread.end()
  await say('plum')
  expect(terms()).toEqual(['strawberry', 'plum', 'plum'])
})
