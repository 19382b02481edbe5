import { expect, it } from 'vitest'
import { ingestRig } from './ingest-rig.ts'

const user = JSON.stringify({ type: 'user', text: 'go on' })
const answer = JSON.stringify({ type: 'assistant', text: 'Done.', end: 'final' })

it('costs for twice as many equal lines without an id about twice as much', { timeout: 120_000 }, async () => {
  const rig = await ingestRig()
  const sizes = [1_000, 2_000, 4_000]
  const leastMs = sizes.map(() => Number.POSITIVE_INFINITY)
  // The least of three: whatever else the process does meanwhile, such as collecting garbage of other tests, counts as well.
  for (let round = 0; round < 3; round++)
    for (const [n, turns] of sizes.entries()) {
      const file = `s-${round}-${turns}.jsonl`
      rig.write(file, Array.from({ length: turns }, () => [user, answer]).flat())
      const before = process.cpuUsage()
      await rig.read('generic', file)
      const { user: inUser, system } = process.cpuUsage(before)
      leastMs[n] = Math.min(leastMs[n] as number, (inUser + system) / 1_000)
    }
  const [once = 0, , fourTimes = 0] = leastMs
  // By the square it would be sixteen.
  expect(fourTimes / once).toBeLessThan(8)
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
