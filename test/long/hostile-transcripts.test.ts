import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { connect } from '../../client/index.ts'
import { startDaemon } from '../support/daemon.ts'
import { makeHome } from '../support/home.ts'
import { moreHostileLines, takeBoundedMemory } from '../support/hostile-lines.ts'
import { appendLong, peakMb, WORDS } from '../support/long-lines.ts'
import { append, genericRoot, turn, turnEvents } from '../support/transcripts.ts'

/** Many such lines are garbage, of which the engine lets much lie before it looks. */
const MOST_MB = 1_200
const LINES = 30

it.runIf(process.platform === 'linux')(`keeps nothing of ${LINES} lines of 60 MB that were read`, async () => {
  const home = makeHome()
  const file = join(genericRoot(home), 's.jsonl')
  append(file, { type: 'session', id: 's', cwd: home.dir })
  for (let n = 0; n < LINES; n++) appendLong(file, { ...WORDS, megabytes: 60 })
  const daemon = await startDaemon(home)
  const turns = await turnEvents(daemon.client)
  append(file, ...turn('after'))
  await turns.take(1)
  console.info(`${LINES} lines of 60 MB, read: ${peakMb(daemon.pid)} MB at most`)
  const patient = connect({ socket: home.places.socketPath, strict: true, deadlineMs: 300_000 })
  const { turnList } = await patient.session({ id: 's' })
  patient.close()
  expect(turnList).toHaveLength(LINES + 1)
  console.info(`${LINES} lines of 60 MB, read back: ${peakMb(daemon.pid)} MB at most`)
  expect(peakMb(daemon.pid)).toBeLessThan(MOST_MB)
  await daemon.stop()
})

describe.runIf(process.platform === 'linux')('a line of', () => {
  it.each(moreHostileLines)('%s takes bounded memory, and the next is read', takeBoundedMemory)
})
