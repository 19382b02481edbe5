import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { savedEvents } from '../support/events.ts'
import { makeHome } from '../support/home.ts'
import { topic } from '../support/memory.ts'
import { startWithLimit } from '../support/watch-limit.ts'

it('where no folder can be watched every edit is noticed within a minute', async (context) => {
  const home = makeHome()
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const daemon = await startWithLimit(home, context, { watches: 0 })
  await daemon.client.putMemory({ cwd, file: 'a.md', content: topic('One.') })
  const { dir } = await daemon.client.memories({ cwd })
  const { until } = await savedEvents(daemon.client)
  const edits: [() => void, ...string[]][] = [
    [() => writeFileSync(join(dir, 'a.md'), topic('Two.')), 'a.md'],
    [() => renameSync(join(dir, 'a.md'), join(dir, 'b.md')), 'a.md', 'b.md'],
    [() => rmSync(dir, { recursive: true }), 'b.md', 'MEMORY.md'],
  ]
  for (const [make, ...files] of edits) {
    const startedMs = performance.now()
    make()
    await until(...files)
    expect(performance.now() - startedMs).toBeLessThan(60_000)
  }
})
