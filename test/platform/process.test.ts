import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { createProcesses } from '../../daemon/platform/process.ts'

const processes = createProcesses()

it('knows a process that is there, and one that is gone', async () => {
  const child = spawn('sleep', ['100'])
  const pid = child.pid as number
  onTestFinished(() => void child.kill('SIGKILL'))
  const born = processes.birthOf(pid)
  expect(processes.isAlive(pid, born)).toBe(true)
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
  expect(processes.isAlive(pid, born)).toBe(false)
  expect(processes.birthOf(pid)).toBeUndefined()
})

it.runIf(existsSync('/proc/self/stat'))('tells a process from a later one of the same number', () => {
  expect(processes.isAlive(process.pid, processes.birthOf(process.pid))).toBe(true)
  expect(processes.isAlive(process.pid, '1')).toBe(false)
})

it.runIf(existsSync('/proc/self/stat'))(
  'takes one that has ended for gone, though its parent has not collected it',
  async () => {
    // The child ends when the test lets it, once the shell has become a program that collects no children.
    const parent = spawn('sh', ['-c', 'cat <&3 & echo $!; exec sleep 100'], {
      stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
    })
    onTestFinished(() => void parent.kill('SIGKILL'))
    const [said] = (await once(parent.stdout as Readable, 'data')) as [Buffer]
    const pid = Number(said.toString())
    while (readFileSync(`/proc/${parent.pid}/comm`, 'utf8') !== 'sleep\n') await turn()
    ;(parent.stdio[3] as Writable).end()
    while (!/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) await turn()
    expect(processes.isAlive(pid)).toBe(false)
  },
)
