/** Kills a daemon while four clients write memories, and checks that files, index and journal agree afterwards. */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { connect } from '../../client/index.ts'
import { launch, startDaemon } from './daemon.ts'
import { makeHome } from './home.ts'
import { seeded } from './seed.ts'

const CLIENTS = 4
const SPREAD_MS = 150

export async function killWhileWriting(rounds: number): Promise<void> {
  const random = seeded(`kill -9 while memories are written, ${rounds} times`)
  const home = makeHome()
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  /** The last content acknowledged for a file, and what was sent after it and may or may not have arrived. */
  const acknowledged = new Map<string, string>()
  const uncertain = new Map<string, Set<string>>()
  for (let round = 0; round < rounds; round++) {
    const { child, exited, logged } = launch(home)
    await logged('memoryd is ready')
    let going = true
    const firsts = Array.from({ length: CLIENTS }, () => Promise.withResolvers<void>())
    const writers = firsts.map(async (first, writer) => {
      const client = connect({ socket: home.places.socketPath, deadlineMs: 5_000, actor: 'user' })
      for (let n = 0; going; n++) {
        const file = `w${writer}_${n % 5}.md`
        const content = `---\nname: W ${writer}\ndescription: Written in round ${round}\ntype: project\n---\n\n${round} ${n}\n`
        uncertain.set(file, (uncertain.get(file) ?? new Set()).add(content))
        const done = await client.putMemory({ cwd, file, content })
        if (done) {
          acknowledged.set(file, content)
          uncertain.delete(file)
          first.resolve()
        }
      }
      client.close()
    })
    // Every other round is killed in the midst of its first writes, the others once each client had one acknowledged.
    if (round % 2 === 0) await Promise.all(firsts.map(({ promise }) => promise))
    await delay(random() * SPREAD_MS)
    child.kill('SIGKILL')
    await exited
    going = false
    await Promise.all(writers)
  }
  expect(acknowledged.size).toBeGreaterThanOrEqual(CLIENTS)

  const daemon = await startDaemon(home)
  const { dir } = await daemon.client.memories({ cwd })
  const names = readdirSync(dir).sort()
  expect(names.filter((name) => !name.endsWith('.md'))).toEqual([])
  const index = readFileSync(join(dir, 'MEMORY.md'), 'utf8')
  for (const [file, content] of acknowledged) {
    const now = readFileSync(join(dir, file), 'utf8')
    expect([content, ...(uncertain.get(file) ?? [])], file).toContain(now)
    expect(index).toContain(`](${file})`)
    const { items } = await daemon.client.changes({ cwd, file, limit: '1' })
    expect(items[0]?.afterHash, file).toBe(createHash('sha256').update(now).digest('hex'))
  }
  expect(index.split('\n').filter(Boolean)).toHaveLength(names.length - 1)
  await daemon.stop()
}
