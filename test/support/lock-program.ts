/**
 * A process at the lock of a memory directory. `<how> <state folder> <memory directory> <times>`:
 * `ours` takes and gives back, `foreign` does so by the simple protocol and adds a line to a memory each time, `careful` adds
 * lines through the writer, `hold` takes it once and stays, `crash` dies as soon as it has it.
 */
import { closeSync, openSync, readFileSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import type { Core } from '../../daemon/core.ts'
import { createDreamLock, LOCK_FILE } from '../../daemon/dream/dream-lock.ts'
import type { Dreams } from '../../daemon/dream/dream-table.ts'
import { createClock } from '../../daemon/platform/clock.ts'

const [how = '', stateDir = '', dir = '', times = '0'] = process.argv.slice(2)
/** No run is on record. */
const dreams = { get: () => undefined } as unknown as Dreams
const lock = createDreamLock({ stateDir, clock: createClock() } as Core, dreams)
const memory = join(dir, 'shared.md')

/** Runs `work` each time the lock is had, so many times. */
async function each(work: (n: number) => Promise<void> | void): Promise<void> {
  for (let done = 0; done < Number(times); ) {
    const acquired = lock.acquire(dir, 'test')
    if ('lock' in acquired) {
      await work(done++)
      acquired.lock.rollBack()
    }
    await turn()
  }
}

/** Two who are inside at once: the second cannot make the file. */
async function alone(): Promise<void> {
  const inside = join(dir, 'inside')
  closeSync(openSync(inside, 'wx'))
  await turn()
  unlinkSync(inside)
}

async function careful(n: number): Promise<void> {
  // Only here: to load it takes longer than all that the others do.
  const { openWriter } = await import('./writer.ts')
  const { writer, close } = await openWriter(stateDir)
  try {
    const { hashOf } = await import('../../daemon/platform/safe-folder.ts')
    const text = readFileSync(memory, 'utf8')
    await turn()
    const write = { file: 'shared.md', content: `${text}- ours ${n}\n`, expect: hashOf(text) }
    await writer.write(dir, [write], { actor: 'agent:dream', reason: 'x' }).catch((error) => {
      // Others write in place: half of what they write can be read, and is no memory.
      if (error.code !== 'CONFLICT' && error.code !== 'REFUSED') throw error
      process.stdout.write('conflict\n')
    })
  } finally {
    await close()
  }
}

/** As others do it: no kernel, no exclusive creation, whole files written in place. */
async function foreign(): Promise<void> {
  const file = join(dir, LOCK_FILE)
  const free = () => {
    try {
      const pid = Number(readFileSync(file, 'utf8'))
      if (!pid || Date.now() - statSync(file).mtimeMs > 3_600_000) return true
      process.kill(pid, 0)
      return false
    } catch {
      return true
    }
  }
  for (let done = 0; done < Number(times); await turn()) {
    if (!free()) continue
    writeFileSync(file, String(process.pid))
    if (readFileSync(file, 'utf8') !== String(process.pid)) continue
    writeFileSync(memory, `${readFileSync(memory, 'utf8')}- foreign ${done++}\n`)
    rmSync(file, { force: true })
  }
}

if (how === 'ours') await each(alone)
else if (how === 'careful') await each(careful)
else if (how === 'foreign') await foreign()
else {
  const acquired = lock.acquire(dir, 'test')
  process.stdout.write(`${'lock' in acquired ? 'held' : 'refused'}\n`)
  if (how === 'crash') process.kill(process.pid, 'SIGKILL')
  // SQLite gives the lock back when its handle is collected.
  process.stdin.once('end', () => acquired).resume()
}
