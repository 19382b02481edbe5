import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { loadSettings } from '../../daemon/settings/live-settings.ts'
import { makeHome } from '../support/home.ts'

function home(text?: string) {
  const { places, env } = makeHome()
  if (text !== undefined) writeFileSync(places.configFile, text)
  return { file: places.configFile, load: () => loadSettings(places.configFile, env, places.home) }
}

describe('settings in force', () => {
  it('follow the file, and stay what they were when it turns wrong', () => {
    const { file, load } = home('{"sweepSeconds":5}')
    const live = load()
    expect(live.reload()).toEqual({ outcome: 'unchanged' })
    writeFileSync(file, '{"sweepSeconds":6}')
    expect(live.reload()).toEqual({ outcome: 'changed' })
    writeFileSync(file, '{"sweepSeconds":"often"}')
    expect(live.reload()).toMatchObject({
      outcome: 'refused',
      error: { message: `${file} is not a valid configuration:\n  sweepSeconds: expected number, got "often"` },
    })
    expect(live.current().sweepSeconds).toBe(6)
    rmSync(file)
    expect(live.reload()).toEqual({ outcome: 'changed' })
    expect(live.current().sweepSeconds).toBe(60)
  })

  it('do not come into being from a wrong file', () => {
    expect(() => home('{"budget":{"usdPerDay":null}}').load()).toThrow('budget.usdPerDay')
  })

  it('are not read from a file that others can write', () => {
    const { file, load } = home('{}')
    chmodSync(file, 0o666)
    expect(load).toThrow('can be written by others')
  })

  it('are not read from something that is no file', () => {
    const { file, load } = home()
    mkdirSync(file)
    expect(load).toThrow('is not a file')
    rmSync(file, { recursive: true })
    execFileSync('mkfifo', [file])
    expect(load).toThrow('is not a file')
  })

  it('are read from a file that begins with a byte order mark', () => {
    expect(home('\uFEFF{"sweepSeconds":9}').load().current().sweepSeconds).toBe(9)
  })

  it('are not read from a file of absurd size', () => {
    expect(home(`{"$schema":"${'x'.repeat(1_100_000)}"}`).load).toThrow('bytes long')
  })
})
