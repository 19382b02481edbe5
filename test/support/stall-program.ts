/**
 * Loaded into a daemon before its own code: how long its main thread is held at once, in its own CPU time, which other programs on the
 * machine do not lengthen. Answers on a socket of its own with what has been since it was last asked.
 */
import { rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { isMainThread } from 'node:worker_threads'

export type Stalls = { longestMs: number; cpuMs: number }

const EVERY_MS = 2

function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

function processMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

const path = process.env.MEMORYD_TEST_STALLS
if (isMainThread && path) {
  let before = threadMs()
  let longestMs = 0
  let cpuBefore = processMs()
  // Due timers run once in each round of the loop: between two of them lies at most one thing that held it.
  setInterval(() => {
    const now = threadMs()
    longestMs = Math.max(longestMs, now - before)
    before = now
  }, EVERY_MS).unref()
  rmSync(path, { force: true })
  createServer((socket) => {
    const cpuMs = processMs()
    socket.end(JSON.stringify({ longestMs, cpuMs: cpuMs - cpuBefore } satisfies Stalls))
    longestMs = 0
    cpuBefore = cpuMs
  })
    .listen(path)
    .unref()
}
