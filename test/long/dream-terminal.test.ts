import { execFileSync } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { cliMain } from '../support/cli.ts'
import { startDaemon } from '../support/daemon.ts'
import { dreamGround, dreamModel, read, snapshot } from '../support/dream-ground.ts'
import { collectEvents } from '../support/events.ts'
import { needPrograms } from '../support/programs.ts'

const SETTLE_MS = 30_000

it.for([80, 160])(
  'a dream is watched on a real terminal of %i columns, Ctrl-C asks, and k stops it',
  async (columns, context) => {
    needPrograms(context, 'tmux')
    const { home } = await dreamModel((n) => (n < 3 ? [read('demo_0.md'), read('demo_1.md')] : { fault: 'silent' }))
    const { cwd, dir, before } = dreamGround(home)
    const { client } = await startDaemon(home)
    const socket = `md-${process.pid}-${columns}`
    const env = { ...home.env, TERM: 'xterm-256color' } as NodeJS.ProcessEnv
    const tmux = (...args: string[]) => execFileSync('tmux', ['-L', socket, ...args], { env, encoding: 'utf8' })
    tmux('-f', '/dev/null', 'new-session', '-d', '-x', String(columns), '-y', '30', '-c', cwd, 'sh')
    onTestFinished(() => void tmux('kill-server'))
    const screen = () => tmux('capture-pane', '-p')
    const until = async (text: string) => {
      for (const began = Date.now(); !screen().includes(text); await delay(50))
        if (Date.now() - began > SETTLE_MS) throw new Error(`never seen: ${text}\n${screen()}`)
      return screen()
    }
    const ready = 'PS1="> "'
    tmux('send-keys', ready, 'Enter')
    tmux('send-keys', `${process.execPath} ${cliMain} dream --watch; echo "ended $?"`, 'Enter')
    const shown = await until('turn 2 of 30')
    expect(shown).toContain(`dream  ${cwd}`)
    expect(shown).toContain('Read ×2')
    expect(shown).toContain('Ctrl-C to leave or stop it')
    expect(shown).toContain(`\n${'-'.repeat(columns)}\n`)
    console.info(shown)

    tmux('send-keys', 'C-c')
    await until('d: leave it running')
    tmux('send-keys', 'x')
    await until('Ctrl-C to leave or stop it')
    tmux('send-keys', 'C-c')
    await until('d: leave it running')
    tmux('send-keys', 'd')
    await until('ended 130')
    expect(await client.dreamStatus({ cwd })).toMatchObject({ live: { state: 'running' } })

    tmux('send-keys', 'clear', 'Enter')
    tmux('send-keys', `${process.execPath} ${cliMain} dream --watch; echo "over $?"`, 'Enter')
    await until('turn 2 of 30')
    tmux('send-keys', 'C-c')
    await until('d: leave it running')
    tmux('send-keys', 'k')
    const end = await until('over 0')
    expect(end).toContain('was stopped, and everything is as it was')
    expect(await client.dreamStatus({ cwd })).toMatchObject({ last: { outcome: 'killed' } })
    expect(snapshot(dir)).toEqual(before)

    // Where there is no keyboard to answer with, nothing is drawn that the user would have to leave.
    tmux('send-keys', 'clear', 'Enter')
    const events = await collectEvents(client, 'dream')
    tmux('send-keys', `${process.execPath} ${cliMain} dream --watch </dev/null; echo "quiet $?"`, 'Enter')
    await events.until((seen) => seen.some(({ turn }) => turn?.turn === 2))
    expect(tmux('display-message', '-p', '#{alternate_on}').trim()).toBe('0')
    await client.killJob({ id: events.seen[0]?.jobId ?? '' })
    expect(await until('quiet 0')).toContain('was stopped, and everything is as it was')
  },
)
