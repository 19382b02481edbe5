import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createScreen } from '../../client/cli/demo/demo.ts'
import { cliMain } from '../support/cli.ts'
import { makeHome } from '../support/home.ts'

function run(more: Record<string, string> = {}) {
  const home = makeHome()
  const temporary = join(home.dir, 't')
  mkdirSync(temporary)
  const env = { ...home.env, NO_COLOR: undefined, TMPDIR: temporary, ...more } as NodeJS.ProcessEnv
  const child = spawn(process.execPath, [cliMain, 'demo'], { env, cwd: home.dir })
  let stdout = ''
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const hears = (text: string) =>
    new Promise<void>((resolve) => child.stdout.on('data', () => stdout.includes(text) && resolve()))
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  const over = new Promise<number | null>((resolve) => child.once('close', resolve))
  return { child, over, hears, said: () => stdout, complaint: () => stderr, left: () => readdirSync(temporary), home }
}

describe('the demo', () => {
  it('shows memories, a recall, a dream, an undo and a compaction, and leaves nothing behind', async () => {
    const { over, said, complaint, left, home } = run()
    expect({ code: await over, stderr: complaint() }).toEqual({ code: 0, stderr: '' })
    const text = said()
    expect(text).toMatch(/^ {3}\+ feedback_never_deploy/m)
    expect(text).toMatch(/> How do I deploy the shop\?\n {3}\| /)
    expect(text).toMatch(/> What is the capital of France\?\n {3}nothing fits/)
    expect(text).toContain('1 merged')
    expect(text).toContain('every file is as it was, byte for byte')
    const [, before, after] = /about (\d+) tokens become (\d+)/.exec(text) ?? []
    expect(Number(after)).toBeLessThan(Number(before) / 2)
    expect(text).not.toContain('\u001b')
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(left()).toEqual([])
    expect(readdirSync(home.dir).sort()).toEqual(['.config', 't'])
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)(
    'leaves nothing behind when the user leaves it half way, or before it has begun: %s',
    async (signal, code) => {
      for (const heard of ['Sessions become memories', 'A tour of memoryd']) {
        const { child, over, hears, left, said } = run()
        await hears(heard)
        child.kill(signal)
        // Once more, while it tidies up.
        child.kill(signal)
        expect(await over).toBe(code)
        expect(left()).toEqual([])
        expect(said()).not.toContain('Nothing is left behind')
      }
    },
  )

  it('leaves nothing behind when its reader has gone', async () => {
    const { child, over, hears, left } = run()
    await hears('A tour of memoryd')
    child.stdout.destroy()
    expect(await over).toBe(0)
    expect(left()).toEqual([])
  })

  it('goes through with a home that is of no use', async () => {
    const { over, complaint, hears, child } = run({ HOME: '', MEMORYD_SOCKET: 'relative' })
    await hears('Sessions become memories')
    child.kill('SIGINT')
    expect({ code: await over, stderr: complaint() }).toEqual({ code: 130, stderr: '' })
  })

  it.each([80, 160, 40, undefined])('fits a terminal of %s columns', (columns) => {
    let text = ''
    const screen = createScreen((more) => (text += more), 'off', columns)
    const long = `${'word '.repeat(60)}${'x'.repeat(300)} 日本\n\u001b[31mred`
    screen.chapter(long)
    screen.say(long)
    screen.good(long)
    screen.dim(long)
    screen.quote(`${long}\n${long}\n${long}`, 2)
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThan(columns ?? 80)
    expect(text).not.toContain('\u001b')
  })

  it('has colours on a terminal', () => {
    let text = ''
    createScreen((more) => (text += more), 'on', 80).good('fine')
    expect(text).toContain('\u001b[32m')
  })
})
