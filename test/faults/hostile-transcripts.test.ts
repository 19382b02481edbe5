import { appendFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { startDaemon } from '../support/daemon.ts'
import { hostileGround, hostileLines, takeBoundedMemory } from '../support/hostile-lines.ts'
import { append, turn, turnEvents } from '../support/transcripts.ts'

describe.runIf(process.platform === 'linux')('a line of', () => {
  it.each(hostileLines)('%s takes bounded memory, and the next is read', takeBoundedMemory)
})

it('counts the lines it cannot use by why, reads those between, and breaks none at U+2028', async () => {
  const { home, cwd, file } = hostileGround()
  const between = (n: number) => `${JSON.stringify({ type: 'user', id: `b${n}`, text: `between ${n}` })}\n`
  const user = (words: string) => `{"type":"user","text":"${words}"}\n`
  appendFileSync(file, Buffer.concat([Buffer.from(user('f')), Buffer.from([0xfc, 0x72, 0x0a])]))
  appendFileSync(file, between(1))
  appendFileSync(file, user('a\0b'))
  appendFileSync(file, between(2))
  appendFileSync(file, '{"type":"user","text":\n')
  appendFileSync(file, user('up\u2028down'))
  const daemon = await startDaemon(home)
  const turns = await turnEvents(daemon.client)
  append(file, ...turn('after'))
  await turns.take(1)
  const { ingest } = await daemon.client.status()
  expect(ingest).toEqual({ lagBytes: 0, skipped: { broken: 1, 'not-utf8': 1, nul: 1 } })
  const { turnList } = await daemon.client.session({ id: 's' })
  expect(turnList.map(({ prompt }) => prompt)).toEqual([
    'before?',
    'f',
    'between 1',
    'between 2',
    'up\u2028down',
    'after?',
  ])
  expect((await daemon.client.search({ cwd, q: 'down' })).items).toMatchObject([{ role: 'person' }])
  await daemon.stop()
})
