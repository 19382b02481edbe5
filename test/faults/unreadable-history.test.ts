import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { faultsIn } from '../support/faults.ts'
import { makeHome } from '../support/home.ts'
import { startDaemon as startHere } from '../support/in-process.ts'
import { topic } from '../support/memory.ts'

const MEMORIES = 30

describe('a disk that fails while history.db is read at a start', () => {
  // SQLite calls a page that could not be read damage; a backup in its place lacks what was acknowledged since.
  it.for([
    [1, 'lasting'],
    [5, 'lasting'],
    [1, 1],
    [8, 1],
    [12, 1],
  ] as const)('is not taken for damage of it: from read %i on, %s', async ([first, times], context) => {
    const home = makeHome()
    const cwd = join(home.dir, 'project')
    mkdirSync(cwd)
    const { start, fail, heal } = faultsIn(context, home)
    const daemon = await startHere(home)
    for (let n = 0; n < MEMORIES; n++)
      await daemon.client.putMemory({ cwd, file: `n${n}.md`, content: topic(`Number ${n}. ${'word '.repeat(400)}`) })
    await daemon.stop()

    const fault = fail({ calls: 'read', ends: '/history.db', error: 'EIO', first, times })
    // It may refuse to start.
    await start().then(
      (begun) => begun.kill9(),
      () => {},
    )
    expect(fault.hits()).toBeGreaterThan(0)
    heal()
    const { client } = await startHere(home, { lastStop: 'unclean' })
    const known = (await client.changes({ cwd, limit: '999' })).items.map(({ id, actor }) => ({ id, actor }))
    expect(known.filter(({ actor }) => actor === 'agent:api')).toHaveLength(MEMORIES)
    const aside = join(home.places.stateDir, 'corrupt')
    expect(existsSync(aside) ? readdirSync(aside) : []).toEqual([])
  })
})
