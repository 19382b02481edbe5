import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createHousekeeping, expired } from '../../daemon/housekeeping/housekeeping.ts'
import { filesBelow } from '../../daemon/platform/files.ts'
import { memoryRig } from '../support/memory.ts'

const DAY = 86_400_000
const NOW = Date.UTC(2026, 5, 1)

async function started() {
  const { core, purges } = await memoryRig()
  const { job, onSweep } = createHousekeeping(core, purges)
  return { core, housekeeping: { onSweep, run: () => job.run({} as never, {} as never) } }
}

describe('retention', () => {
  const file = (path: string, ageDays: number, bytes = 1) => ({ path, bytes, modifiedMs: NOW - ageDays * DAY })
  const gone = (...files: ReturnType<typeof file>[]) =>
    expired(files, { days: 30, maxBytes: 100 }, NOW).map(({ path }) => path)

  it('lets a file live exactly its days', () => {
    expect(gone(file('young', 30), file('old', 30.001))).toEqual(['old'])
  })

  it('drops the oldest beyond the bytes it may keep', () => {
    expect(gone(file('a', 3, 60), file('b', 1, 60), file('c', 2, 40))).toEqual(['a'])
  })

  it('keeps a file whose stamp lies in the future', () => {
    expect(gone(file('tomorrow', -1))).toEqual([])
  })

  it('deletes surplus backups, expired files and leftovers of a crash, and nothing else', async () => {
    const { core, housekeeping } = await started()
    const { stateDir } = core
    const old = (path: string) => {
      mkdirSync(dirname(join(stateDir, path)), { recursive: true })
      writeFileSync(join(stateDir, path), '')
      utimesSync(join(stateDir, path), 0, 0)
    }
    for (let day = 1; day <= 9; day++) old(`backups/history-2025-05-0${day}.db`)
    for (const path of ['backups/mine.txt', 'backups/history-schema-1.db', 'corrupt/old.db', 'notes.txt']) old(path)
    for (const path of ['logs/launchd.log', 'sessions/a/notes.md', 'tool-results/b/c.txt', 'tool-results/b/d.tmp'])
      old(path)
    writeFileSync(join(stateDir, 'corrupt/new.db'), '')
    housekeeping.onSweep(() => 3)
    // Three surplus backups of ten, and five old files.
    expect(await housekeeping.run()).toEqual({ done: { deleted: 3 + 5 + 3 } })
    const left = filesBelow(stateDir).map((path) => path.slice(stateDir.length + 1))
    expect(left.filter((path) => !/^(history|index)\.db|^logs\/memoryd/.test(path)).sort()).toEqual([
      'backups/history-2025-05-04.db',
      'backups/history-2025-05-05.db',
      'backups/history-2025-05-06.db',
      'backups/history-2025-05-07.db',
      'backups/history-2025-05-08.db',
      'backups/history-2025-05-09.db',
      'backups/history-2026-01-01.db',
      'backups/mine.txt',
      'corrupt/new.db',
      'notes.txt',
    ])
    expect(existsSync(join(stateDir, 'sessions/a'))).toBe(false)
  })
})

describe('the hourly round', () => {
  it('raises a condition when it fails and clears it when it succeeds again', async () => {
    const { core, housekeeping } = await started()
    let problem: Error | undefined = new Error('no space')
    housekeeping.onSweep(() => {
      if (problem) throw problem
    })
    expect(await housekeeping.run()).toEqual({ failed: 'no space' })
    expect(core.health.list()).toMatchObject([{ code: 'housekeeping', message: expect.stringContaining('no space') }])
    problem = Object.assign(new Error('full'), { code: 'ENOSPC' })
    expect(await housekeeping.run()).toEqual({ postponed: 'the disk cannot be written' })
    problem = undefined
    expect(await housekeeping.run()).toEqual({ done: { deleted: 0 } })
    expect(core.health.list().map(({ code }) => code)).not.toContain('housekeeping')
  })
})
