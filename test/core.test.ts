import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { testCore } from './support/core.ts'
import { makeHome } from './support/home.ts'

describe('the core', () => {
  it('logs each condition, and tells event readers of it', async () => {
    const { core, places } = await testCore()
    const heard: unknown[] = []
    core.events.subscribe((event) => heard.push(event.type))
    core.health.raise('disk', 'cannot write')
    core.health.clear('disk')
    expect(heard).toEqual(['status', 'status'])
    const lines = readFileSync(places.logFile, 'utf8').trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).condition)).toEqual(['disk', 'disk'])
  })

  it('removes half-written files of a process that was killed before it opens anything', async () => {
    const home = makeHome()
    const leftover = join(home.places.stateDir, 'backups', 'history.tmp')
    mkdirSync(join(home.places.stateDir, 'backups'), { recursive: true, mode: 0o700 })
    writeFileSync(leftover, '')
    await testCore({ home })
    expect(existsSync(leftover)).toBe(false)
  })

  it('closes what it opened when a database cannot be opened', async () => {
    const home = makeHome()
    const { places } = home
    mkdirSync(join(places.stateDir, 'history.db'), { recursive: true, mode: 0o700 })
    await expect(testCore({ home })).rejects.toMatchObject({ code: 'SQLITE_CANTOPEN' })
    expect(readFileSync(places.logFile, 'utf8')).toContain('memoryd could not start')
  })
})
