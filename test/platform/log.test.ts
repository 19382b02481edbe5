import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createLog } from '../../daemon/platform/log.ts'
import { formatLogLine } from '../../schema/log-line.ts'
import { manualTime } from '../support/clock.ts'
import { makeHome } from '../support/home.ts'

function openLog({ level = 'info', maxBytes = 100_000 } = {}) {
  const { places } = makeHome()
  const shown: string[] = []
  const troubles: string[] = []
  const log = createLog(
    { level, maxBytes },
    {
      file: places.logFile,
      terminal: { write: (text) => shown.push(text), colour: 'off' },
      clock: manualTime().clock,
      onTrouble: (problem) => troubles.push(problem),
    },
  )
  return { log, shown, troubles, file: places.logFile, read: () => readFileSync(places.logFile, 'utf8') }
}

describe('the log', () => {
  it('writes JSON lines to a private file and readable ones to the terminal', () => {
    const { log, shown, read, file } = openLog()
    log.info({ files: 3 }, 'deleted')
    log.debug('not at this level')
    expect(JSON.parse(read())).toEqual({
      level: 30,
      time: Date.UTC(2026, 0, 1),
      pid: process.pid,
      files: 3,
      msg: 'deleted',
    })
    expect(shown).toEqual(['2026-01-01T00:00:00.000Z info  deleted files=3\n'])
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  it('takes up another level while it runs', () => {
    const { log, shown } = openLog()
    log.configure({ level: 'error', maxBytes: 100_000 })
    log.warn('too quiet now')
    log.error('loud')
    expect(shown).toHaveLength(1)
  })

  it('never takes more room than its cap, and keeps the newest lines', () => {
    const { log, file } = openLog({ maxBytes: 20_000 })
    for (let n = 0; n < 2_000; n++) log.info({ n }, 'a line of some length')
    const names = readdirSync(dirname(file))
    expect(names.sort()).toEqual(['memoryd.log', 'memoryd.log.1', 'memoryd.log.2', 'memoryd.log.3'])
    const bytes = names.reduce((sum, name) => sum + statSync(`${dirname(file)}/${name}`).size, 0)
    expect(bytes).toBeLessThanOrEqual(20_000)
    expect(bytes).toBeGreaterThan(15_000)
    expect(readFileSync(file, 'utf8')).toContain('"n":1999')
  })

  it('cuts a line that would fill the log by itself', () => {
    const { log, read } = openLog()
    log.info('x'.repeat(1_000_000))
    expect(read().length).toBeLessThan(40_000)
  })

  it('holds no credential and no message content, wherever a caller hangs them', () => {
    const { log, read, shown } = openLog()
    const secrets = [
      `sk-ant-${'a'.repeat(40)}`,
      `ghp_${'b'.repeat(36)}`,
      'AKIAABCDEFGHIJKLMNOP',
      `Bearer ${'c'.repeat(30)}`,
      'https://user:hunter2@example.com/',
      `-----BEGIN RSA PRIVATE KEY-----\n${'d'.repeat(64)}\n-----END RSA PRIVATE KEY-----`,
    ]
    for (const secret of secrets) log.error({ err: new Error(`refused: ${secret}`), deep: { note: secret } }, secret)
    log.info(
      { apiKey: 'plain', a: { b: { c: { d: { prompt: 'what I said', list: [{ authorization: 'zzz' }] } } } } },
      'asked',
    )
    const all = read() + shown.join('')
    for (const word of ['aaaa', 'bbbb', 'AKIA', 'cccc', 'hunter2', 'dddd', 'plain', 'what I said', 'zzz'])
      expect(all).not.toContain(word)
    expect(all).toContain('[redacted]')
  })

  it('comes to an end over lines made to exhaust its patterns', () => {
    const { log, read } = openLog({ maxBytes: 1_000_000 })
    for (const bait of ['a', 'eyJ-', 'sk-', 'http://', 'Bearer ', '-----BEGIN PRIVATE KEY-----'])
      log.info(bait.repeat(100_000))
    expect(read().split('\n')).toHaveLength(7)
  })

  it('goes on after a folder it could not write to, and says what the trouble was', () => {
    const { log, troubles, file, read } = openLog()
    mkdirSync(dirname(dirname(file)), { recursive: true })
    writeFileSync(dirname(file), 'a file in the place of the folder')
    log.info('lost')
    expect(troubles).toHaveLength(1)
    rmSync(dirname(file))
    log.info('kept')
    expect(JSON.parse(read())).toMatchObject({ msg: 'kept' })
    expect(troubles).toHaveLength(1)
  })
})

describe('log lines for people', () => {
  it('show a foreign line as it is', () => {
    expect(formatLogLine('Segmentation fault', { colour: 'off' })).toBe('Segmentation fault')
    expect(formatLogLine('{"a":1}', { colour: 'off' })).toBe('{"a":1}')
  })

  it('show an error with its stack, and warnings in colour on a terminal', () => {
    const line = JSON.stringify({ level: 40, time: 0, msg: 'odd', err: { stack: 'Error: x\n  at y' } })
    expect(formatLogLine(line, { colour: 'on' })).toBe(
      '\u001b[33m1970-01-01T00:00:00.000Z warn  odd\u001b[39m\n    Error: x\n      at y',
    )
  })

  it('do not fall over a time that is none', () => {
    expect(formatLogLine('{"level":30,"time":1e99,"msg":"x"}', { colour: 'off' })).toBe('1e+99 info  x')
  })
})
