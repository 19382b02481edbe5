/** Many callers at the same memories at once, and folders that are swapped for links meanwhile. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StrictClient } from '../../client/index.ts'
import { MemoryError } from '../../schema/errors.ts'
import { problemsOf, stateOf } from '../support/fault-oracle.ts'
import type { Home } from '../support/home.ts'
import { topic } from '../support/memory.ts'
import { memoryDirOf } from '../support/writer.ts'
import { personAt, randomOf } from './hostile-fuzz.ts'
import { below, pick } from './hostile-values.ts'

const CALLERS = 16
const FILES = ['a.md', 'b.md', 'team_c.md', 'd.md']
const COUNTED = 'counted.md'
/** What two that write at once may be told. */
const EXPECTED = new Set(['CONFLICT', 'NOT_FOUND', 'REFUSED'])

export type Raced = { tried: number; done: number; problems: string[] }

/** All callers change the same few files; beside them they add lines to one that must not lose any. */
export async function race(home: Home, requests: number, seed: number): Promise<Raced> {
  const raced: Raced = { tried: 0, done: 0, problems: [] }
  const cwd = join(home.dir, 'raced')
  mkdirSync(join(cwd, '.git'), { recursive: true })
  const setUp = personAt(home)
  await setUp.putMemory({ cwd, file: COUNTED, content: topic('Line begin.', 'Counted') })
  const added: string[] = []
  const caller = async (of: number) => {
    const random = randomOf(seed + of)
    const client = personAt(home)
    const file = () => pick(random, FILES)
    const acts: (() => Promise<unknown>)[] = [
      () =>
        client.putMemory({ cwd, file: file(), content: topic(`Version ${random()}.`, `Raced ${below(random, 9)}`) }),
      () => client.forget({ cwd, file: file() }),
      () => client.forget({ cwd, file: file(), reject: 'true' }),
      () =>
        client.remember({
          cwd,
          text: `The harbour ${below(random, 30)} of the town ${below(random, 30)} is closed on Mondays.`,
        }),
      async () => {
        const { items } = await client.changes({ cwd, limit: '20' })
        const undone = items.filter((change) => change.file !== COUNTED)
        if (undone.length > 0) await client.undoChange({ id: pick(random, undone).id })
      },
      async () => {
        const { hash } = await client.memory({ cwd, file: file() })
        await client.putMemory({ cwd, file: file(), content: topic(`Based ${random()}.`), ifHash: hash })
      },
      () => addLine(client),
      () => addLine(client),
    ]
    const addLine = async (by: StrictClient) => {
      const line = `Line ${of}.${added.length}.${below(random, 1e9)}.`
      const { content, hash } = await by.memory({ cwd, file: COUNTED })
      await by.putMemory({ cwd, file: COUNTED, content: `${content.trimEnd()}\n${line}\n`, ifHash: hash })
      added.push(line)
    }
    while (raced.tried < requests) {
      raced.tried++
      await pick(random, acts)().then(
        () => raced.done++,
        (error) => {
          if (!(error instanceof MemoryError) || !EXPECTED.has(error.code)) raced.problems.push(String(error))
        },
      )
    }
    client.close()
  }
  await Promise.all(Array.from({ length: CALLERS }, (_, of) => caller(of)))
  const { content } = await setUp.memory({ cwd, file: COUNTED })
  const lines = content.split('\n').filter((line) => /^Line \d/.test(line))
  for (const line of added) if (!lines.includes(line)) raced.problems.push(`lost: ${line}`)
  if (lines.length !== added.length) raced.problems.push(`${lines.length} lines of ${added.length}`)
  const ground = { home, client: setUp, cwd, dir: memoryDirOf(home, cwd), told: '' }
  const found = await stateOf(ground, { name: '', isWrite: true, act: async () => {} })
  raced.problems.push(...problemsOf(found, found))
  setUp.close()
  return raced
}

/** Puts a link to a place outside where `path` was, and `path` back, over and over; ends with its parent. */
const SWAPPER = `
const fs = require('fs')
const [path, target, parked] = process.argv.slice(1)
const quietly = (act) => { try { act(); return true } catch { return false } }
const pause = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.random() * ms)
process.on('disconnect', () => process.exit())
process.send('swapping')
const swap = () => {
  if (!quietly(() => fs.renameSync(path, parked))) quietly(() => fs.rmSync(path, { recursive: true }))
  quietly(() => fs.symlinkSync(target, path))
  pause(1)
  quietly(() => fs.unlinkSync(path))
  quietly(() => fs.renameSync(parked, path))
  pause(4)
  setImmediate(swap)
}
swap()`

async function swapping<T>(paths: [string, string, string], work: () => Promise<T>): Promise<T> {
  const child: ChildProcess = spawn(process.execPath, ['-e', SWAPPER, ...paths], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit')
  try {
    await once(child, 'message')
    return await work()
  } finally {
    child.kill('SIGKILL')
    await exited
  }
}

const OUTSIDE = 'Nothing of this may be told'

/** Reads and writes while the memory directory, a folder in it or a file in it is swapped for a link to a place outside. */
export async function swap(home: Home, requests: number, seed: number): Promise<Raced> {
  const raced: Raced = { tried: 0, done: 0, problems: [] }
  for (const [n, what] of ['.', 'sub', 'sub/x.md'].entries()) {
    const client = personAt(home)
    const random = randomOf(seed + n)
    const cwd = join(home.dir, `swapped-${n}`)
    // A memory directory may be a link, but not to a home directory.
    const outside = what === '.' ? home.dir : join(home.dir, `outside-${n}`)
    mkdirSync(join(cwd, '.git'), { recursive: true })
    mkdirSync(join(outside, 'sub'), { recursive: true })
    for (const file of ['MEMORY.md', 'x.md', 'sub/x.md']) {
      if (file !== 'MEMORY.md') await client.putMemory({ cwd, file, content: topic('Inside.', file) })
      writeFileSync(join(outside, file), topic(OUTSIDE, 'Outside'))
    }
    const dir = memoryDirOf(home, cwd)
    const textsOutside = () =>
      ['MEMORY.md', 'x.md', 'sub/x.md'].map((file) => readFileSync(join(outside, file), 'utf8'))
    const before = textsOutside()
    const file = () => pick(random, ['x.md', 'sub/x.md'])
    const acts: (() => Promise<unknown>)[] = [
      () => client.memory({ cwd, file: file() }),
      () => client.memoryIndex({ cwd }),
      () => client.memoryPrompt({ cwd }),
      () => client.memories({ cwd, q: 'told' }),
      () => client.recall({ cwd, query: 'What may be told of this?' }),
      () => client.instructions({ cwd }),
      () => client.putMemory({ cwd, file: file(), content: topic(`Inside ${random()}.`) }),
      () => client.remember({ cwd, text: `The tower ${below(random, 50)} of the harbour is painted every spring.` }),
      () => client.forget({ cwd, file: file() }),
    ]
    await swapping([join(dir, what), join(outside, what), join(home.dir, `parked-${n}`)], async () => {
      for (let of = 0; of < requests / 3; of++) {
        raced.tried++
        await pick(random, acts)().then(
          (answer) => {
            raced.done++
            if (JSON.stringify(answer).includes(OUTSIDE)) raced.problems.push(`told what is outside (${what})`)
          },
          (error) => {
            const isExpected = error instanceof MemoryError && [...EXPECTED, 'DEGRADED'].includes(error.code)
            if (!isExpected) raced.problems.push(`${what}: ${String(error)}`)
          },
        )
      }
    })
    if (textsOutside().join() !== before.join()) raced.problems.push(`changed what is outside (${what})`)
    client.close()
  }
  return raced
}
