import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { dailyBackups } from '../../daemon/db/backup.ts'
import { createHousekeeping } from '../../daemon/housekeeping/housekeeping.ts'
import { expired, sweepKept } from '../../daemon/housekeeping/retention.ts'
import { createEvents } from '../../daemon/platform/events.ts'
import { filesIn, removeLeftovers } from '../../daemon/platform/files.ts'
import { createHealth } from '../../daemon/platform/health.ts'
import type { Log } from '../../daemon/platform/log.ts'
import { manualTime } from '../support/clock.ts'
import { makeHome } from '../support/home.ts'

const DAY = 86_400_000
const NOW = Date.UTC(2026, 5, 1)
const silent = { info() {}, warn() {}, error() {}, debug() {} } as unknown as Log

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

  it('deletes surplus backups, expired files and leftovers of a crash, and nothing else', () => {
    const { dir } = makeHome()
    const backups = join(dir, 'backups')
    const corrupt = join(dir, 'corrupt')
    for (const folder of [backups, corrupt]) mkdirSync(folder)
    for (let day = 1; day <= 9; day++) writeFileSync(join(backups, `history-2026-05-0${day}.db`), '')
    writeFileSync(join(backups, 'mine.txt'), '')
    writeFileSync(join(corrupt, 'old.db'), '')
    utimesSync(join(corrupt, 'old.db'), 0, 0)
    writeFileSync(join(corrupt, 'new.db'), '')
    writeFileSync(join(dir, 'daemon.json.123.tmp'), '')
    writeFileSync(join(dir, 'notes.txt'), '')
    writeFileSync(join(backups, 'history-2026-05-10.db.tmp-journal'), '')
    const deps = { kept: () => filesIn(corrupt), dailyBackups: () => dailyBackups(backups) }
    expect(sweepKept(deps, { days: 30, maxBytes: 1_000, backups: 7 }, Date.now())).toHaveLength(3)
    expect(removeLeftovers([dir, backups])).toHaveLength(2)
    expect(readdirSync(backups)).toHaveLength(8)
    expect(readdirSync(backups)).not.toContain('history-2026-05-02.db')
    expect(readdirSync(corrupt)).toEqual(['new.db'])
    expect(readdirSync(dir).sort()).toEqual(['.config', 'backups', 'corrupt', 'notes.txt'])
  })
})

describe('the hourly round', () => {
  it('raises a condition when it fails and clears it when it succeeds again', async () => {
    const health = createHealth(manualTime().clock, createEvents(manualTime().clock))
    let trouble: Error | undefined = new Error('no space')
    const round = createHousekeeping({
      health,
      log: silent,
      backUp: async () => {
        if (trouble) throw trouble
      },
      sweep: async () => 3,
      blamesDisk: (error) => (error as Error).message === 'disk',
    })
    expect(await round()).toEqual({ retry: 'no space' })
    expect(health.list()).toMatchObject([{ code: 'housekeeping', message: expect.stringContaining('no space') }])
    trouble = new Error('disk')
    expect(await round()).toEqual({ wait: 'the disk cannot be written' })
    trouble = undefined
    expect(await round()).toEqual({ done: { deleted: 3 } })
    expect(health.list()).toEqual([])
  })
})
