import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createPushing } from '../../daemon/transcripts/pushed.ts'
import { createTail } from '../../daemon/transcripts/tail.ts'
import { manualTime } from '../support/clock.ts'
import { makeHome } from '../support/home.ts'

function rig(onNews: () => Promise<unknown>, delay: () => Promise<void>) {
  const { dir } = makeHome()
  const path = join(dir, 'sessions')
  mkdirSync(path)
  const clock = { ...manualTime().clock, delay }
  const asked: unknown[] = []
  const pushing = createPushing({
    root: { harness: 'generic', path },
    tail: createTail({ clock }),
    anywhere: { sourceAt: () => ({ left: 'nothing' }) } as never,
    redact: async (text) => ({ text, kinds: [] }),
    linesOf: async () => ['{}'],
    onNews,
    jobsOf: (session, sinceMs) => {
      asked.push({ session, sinceMs })
      return ['extract-1']
    },
    handOver: async () => 'nobody wants it',
    projectOf: (cwd) => ({ root: cwd, off: undefined }),
    clock,
  })
  const turn = {
    cwd: dir,
    harness: 'mine',
    sessionId: 's',
    turnId: 't',
    messages: [{ role: 'user', content: 'Hello' }],
  }
  return { pushing, turn, asked, clock }
}

const caller = { actor: 'agent:api', env: {} }
const never = () => new Promise<never>(() => {})

it('names the jobs of a turn once it was read', async () => {
  const { pushing, turn, asked, clock } = rig(async () => {}, never)
  expect(await pushing.push(turn, caller)).toEqual({ jobIds: ['extract-1'] })
  expect(asked).toEqual([{ session: { harness: 'mine', sessionId: 's' }, sinceMs: clock.now() }])
})

it('keeps nobody waiting who pushes while much else is read', async () => {
  const { pushing, turn } = rig(never, async () => {})
  const prefix = { params: { model: 'm', messages: [{}] }, endpoint: 'http://h', fingerprint: '0'.repeat(16) }
  expect(await pushing.push({ ...turn, prefix }, caller)).toEqual({
    jobIds: ['extract-1'],
    prefixSkipped: 'nobody wants it',
  })
})
