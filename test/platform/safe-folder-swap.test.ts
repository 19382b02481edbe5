import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { inFolder, type MemoryFolder, openFolder } from '../../daemon/memory/folder.ts'
import { bestReach } from '../../daemon/platform/safe-folder.ts'
import { MemoryError } from '../../schema/errors.ts'
import { hostileCases, prepareGround } from '../memory/containment-corpus.ts'
import type { Ground } from '../memory/hostile-names.ts'
import { snapshot } from '../memory/snapshot.ts'
import { makeHome } from '../support/home.ts'
import { memoryRig, person, topic } from '../support/memory.ts'

const ours = Buffer.from('ours\n')
const anything = { expect: undefined }
const OFTEN = 40

/**
 * Another process that puts a link to a place outside where `path` was, and `path` back, at random moments of what goes
 * on here. Ends by itself should the test not end it.
 */
const SWAPPER = `
const fs = require('fs')
const [path, target, parked] = process.argv.slice(1)
const quietly = (act) => { try { act(); return true } catch { return false } }
const pause = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.random() * ms)
process.send('swapping')
for (const end = performance.now() + 50_000; performance.now() < end; ) {
  if (!quietly(() => fs.renameSync(path, parked))) quietly(() => fs.rmSync(path, { recursive: true }))
  quietly(() => fs.symlinkSync(target, path))
  pause(1)
  quietly(() => fs.unlinkSync(path))
  quietly(() => fs.renameSync(parked, path))
  pause(4)
}`

async function swap(path: string, target: string, parked: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['-e', SWAPPER, path, target, parked], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  await once(child, 'message')
  return child
}

const isRefused = (error: unknown) => error instanceof MemoryError && error.code === 'REFUSED'

/** May be refused or succeed; nothing else may happen. Goes on until both were seen often enough. */
function insist(act: (round: number) => unknown, isRefusal = isRefused): { done: number; refused: number } {
  const seen = { done: 0, refused: 0 }
  const end = performance.now() + 30_000
  for (let round = 0; (seen.done < OFTEN || seen.refused < OFTEN) && performance.now() < end; round++)
    try {
      if (act(round) !== undefined) seen.done++
    } catch (error) {
      if (!isRefusal(error)) throw error
      seen.refused++
    }
  return seen
}

const often = { done: expect.toSatisfy(isOften), refused: expect.toSatisfy(isOften) }

function isOften(count: number): boolean {
  return count >= OFTEN
}

describe.skipIf(bestReach(process.platform) === 'path')('while another process swaps', () => {
  const swaps: { what: string; path: string; target: string; file: string }[] = [
    { what: 'the folder', path: 'a', target: 'a', file: 'a/x.md' },
    { what: 'a folder on the way', path: 'a', target: 'a', file: 'a/b/c/x.md' },
    { what: 'the innermost of three folders', path: 'a/b/c', target: 'a/b/c', file: 'a/b/c/x.md' },
    { what: 'the file', path: 'user_role.md', target: 'user_role.md', file: 'user_role.md' },
    { what: 'the memory folder', path: '.', target: '.', file: 'a/x.md' },
  ]

  async function begin({ path, target }: (typeof swaps)[number]): Promise<{ ground: Ground; folder: MemoryFolder }> {
    const ground = prepareGround(makeHome().dir)
    const folder = openFolder(ground.memory)
    onTestFinished(folder.close)
    mkdirSync(join(ground.home, 'parking'))
    await swap(join(ground.memory, path), join(ground.outside, target), join(ground.home, 'parking', 'lot'))
    return { ground, folder }
  }

  it.each(swaps)('$what, a write never lands outside', async (each) => {
    const { ground, folder } = await begin(each)
    const before = snapshot(ground.outside)
    expect(insist((round) => folder.write(each.file, Buffer.from(`ours ${round}\n`), anything))).toEqual(often)
    expect(snapshot(ground.outside)).toEqual(before)
  })

  it('the memory folder of a sub-agent, a write into it as it is opened never lands outside', async () => {
    const ground = prepareGround(makeHome().dir)
    const dir = join(ground.memory, '.claude/agent-memory/reviewer')
    mkdirSync(dir, { recursive: true })
    mkdirSync(join(ground.home, 'parking'))
    await swap(dir, ground.outside, join(ground.home, 'parking', 'lot'))
    const before = snapshot(ground.outside)
    const writing = (round: number) =>
      inFolder(dir, (folder) => folder.write(`${round}.md`, Buffer.from(`ours ${round}\n`), anything))
    expect(insist(writing)).toEqual(often)
    expect(snapshot(ground.outside)).toEqual(before)
  })

  it.each(swaps)('$what, nothing outside is ever read', async (each) => {
    const { folder } = await begin(each)
    const texts = new Set<string>()
    const seen = insist(() => {
      const content = folder.read(each.file)
      return content && texts.add(content.bytes.toString())
    })
    expect(seen).toEqual(often)
    expect([...texts]).toEqual([`inside ${each.file}\n`])
  })

  it('the memory directory of a project, a memory and an index are never read where no such directory may be', async () => {
    const rig = await memoryRig()
    await rig.memory.put(rig.cwd, person, { file: 'one.md', content: topic('Ours.') }, 'x')
    // A home directory is no place for memories.
    writeFileSync(join(rig.home, 'one.md'), topic('Outside.'))
    writeFileSync(join(rig.home, 'MEMORY.md'), '- [Outside](one.md): Outside.\n')
    await swap(rig.dir, rig.home, `${rig.dir}-parked`)
    const { get, index } = rig.memory.reading
    const texts = new Set<boolean>()
    const look = () => {
      const found = `${get(rig.cwd, person, 'one.md').content}${index(rig.cwd, person).content}`
      return texts.add(found.includes('Outside'))
    }
    const seen = insist(look, (error) => error instanceof MemoryError)
    expect(seen).toEqual(often)
    expect([...texts]).toEqual([false])
  })

  it.each(swaps)('$what, nothing outside is ever removed', async (each) => {
    const { ground, folder } = await begin(each)
    const before = snapshot(ground.outside)
    const seen = insist(() => {
      folder.write(each.file, ours, anything)
      return folder.remove(each.file, anything)
    })
    expect(seen).toEqual(often)
    expect(snapshot(ground.outside)).toEqual(before)
  })
})

describe.runIf(process.platform === 'linux')('open files', () => {
  const heldIn = (home: string) =>
    readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith(home)
      } catch {
        return false
      }
    })

  it('are all closed again, whatever went wrong', () => {
    const { dir } = makeHome()
    const kept: string[] = []
    const trees = hostileCases.filter((each) => each.setUp || each.afterOpening)
    const some = trees.filter((each, at) => each.group !== trees[at - 3]?.group)
    for (const [at, { name, path, setUp, afterOpening }] of some.entries()) {
      mkdirSync(join(dir, `${at}`))
      const ground = prepareGround(join(dir, `${at}`))
      if (setUp?.(ground) === false) continue
      const folder = openFolder(ground.memory)
      afterOpening?.(ground)
      const file = typeof path === 'string' ? path : path(ground)
      for (const act of [
        () => folder.read(file),
        () => folder.write(file, ours, anything),
        () => folder.remove(file, anything),
        () => folder.write('new/new/x.md', ours, { expect: null }),
        () => folder.write('new/new/x.md', ours, { expect: null }),
        () => folder.sweep(),
        () => folder.remove('new/new/x.md', anything),
      ])
        try {
          act()
        } catch {}
      if (heldIn(dir).length > 1) kept.push(name)
      folder.close()
    }
    expect(kept).toEqual([])
    expect(heldIn(dir)).toEqual([])
  })
})
