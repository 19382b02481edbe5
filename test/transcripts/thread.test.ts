import { expect, it } from 'vitest'
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
