import { expect, it } from 'vitest'
import { ingestRig } from './ingest-rig.ts'

const user = JSON.stringify({ type: 'user', text: 'go on' })
const answer = JSON.stringify({ type: 'assistant', text: 'Done.', end: 'final' })

it('costs for twice as many equal lines without an id about twice as much', { timeout: 120_000 }, async () => {
  const rig = await ingestRig()
  const cpuMs: number[] = []
  // The first one warms up.
  for (const turns of [1_000, 2_000, 4_000, 8_000]) {
    rig.write(`s-${turns}.jsonl`, Array.from({ length: turns }, () => [user, answer]).flat())
    const before = process.cpuUsage()
    await rig.read('generic', `s-${turns}.jsonl`)
    const { user: inUser, system } = process.cpuUsage(before)
    cpuMs.push((inUser + system) / 1_000)
  }
  const [, once = 0, twice = 0, fourTimes = 0] = cpuMs
  expect({ twice: twice / once, fourTimes: fourTimes / twice }).toEqual({
    twice: expect.toSatisfy((ratio: number) => ratio <= 2.5),
    fourTimes: expect.toSatisfy((ratio: number) => ratio <= 2.5),
  })
})

it('goes on counting equal lines where it was, for a file that is read on, and anew for one that was rewritten', async () => {
  const rig = await ingestRig()
  const numbers = () => rig.messages().flatMap(({ uid, gone }) => (gone ? [] : [Number(uid.split('.')[1])]))
  const read = () => rig.read('generic', 's.jsonl')
  rig.write('s.jsonl', [user, user, user])
  await read()
  rig.append('s.jsonl', [user, user])
  await read()
  rig.restart()
  rig.append('s.jsonl', [user])
  await read()
  expect(numbers()).toEqual([1, 2, 3, 4, 5, 6])
  rig.write('s.jsonl', [user, user])
  await read()
  rig.append('s.jsonl', [user])
  await read()
  expect(numbers()).toEqual([1, 2, 3])
  rig.exec(`CREATE TRIGGER refused BEFORE INSERT ON messages BEGIN SELECT RAISE(ABORT, 'refused'); END`)
  rig.append('s.jsonl', [user, user, answer])
  await expect(read()).rejects.toThrow('refused')
  rig.exec('DROP TRIGGER refused')
  await read()
  expect(numbers()).toEqual([1, 2, 3, 4, 5, 1])
})
