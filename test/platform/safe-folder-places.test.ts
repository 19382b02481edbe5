import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { linkSync, mkdirSync, readFileSync, renameSync, statSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest'
import { inFolder, openFolder } from '../../daemon/memory/folder.ts'
import { scanMemories } from '../../daemon/memory/scan.ts'
import { agentDirOf, isAgentDir } from '../../daemon/projects/memory-dir.ts'
import { snapshot } from '../memory/snapshot.ts'
import { needPrograms } from '../support/programs.ts'
import { anything, bytes, makeGround, open, outcome, refusal } from './safe-folder-ground.ts'

describe('the folder itself', () => {
  it('may be named by a link, and must be there', () => {
    const ground = makeGround()
    symlinkSync(ground.memory, join(ground.home, 'link'))
    const folder = openFolder(join(ground.home, 'link'))
    onTestFinished(folder.close)
    folder.write('x.md', bytes, anything)
    expect(readFileSync(join(ground.memory, 'x.md'), 'utf8')).toBe('ours\n')
    expect(outcome(() => openFolder(join(ground.home, 'not-there')))).toMatchObject({ code: 'ENOENT' })
    expect(outcome(() => openFolder(join(ground.memory, 'x.md')))).toMatchObject({ code: 'ENOTDIR' })
  })

  it('is taken again once it is back in its place', () => {
    const ground = makeGround()
    const folder = open(ground)
    renameSync(ground.memory, join(ground.home, 'away'))
    expect(outcome(() => folder.read('user_role.md'))).toEqual(refusal('was replaced'))
    renameSync(join(ground.home, 'away'), ground.memory)
    expect(folder.read('user_role.md')?.bytes.toString()).toBe('inside user_role.md\n')
  })

  it('is refused where a link leads to a place that it may not be in, and no place is checked where none does', () => {
    const ground = makeGround()
    const link = join(ground.home, 'link')
    symlinkSync(ground.outside, link)
    const before = snapshot(ground.home)
    const asked: string[] = []
    const openAt = (dir: string, answer: boolean) =>
      openFolder(dir, {
        mayBeAt: (where) => {
          asked.push(where)
          return answer
        },
      })
    expect(outcome(() => openAt(link, false))).toEqual(refusal('leads elsewhere through a link'))
    openAt(link, true).close()
    openAt(ground.memory, false).close()
    expect(asked).toEqual([ground.outside, ground.outside])
    expect(snapshot(ground.home)).toEqual(before)
  })

  it.each(['.claude', '.claude/agent-memory', '.claude/agent-memory/reviewer'])(
    'is refused for a sub-agent once %s is a link, and nothing is read, listed or made behind it',
    (linked) => {
      const ground = makeGround()
      const dir = agentDirOf({
        root: ground.memory,
        home: ground.home,
        variables: {},
        type: 'reviewer',
        scope: 'project',
      })
      expect(isAgentDir(dir)).toBe(true)
      mkdirSync(dirname(join(ground.memory, linked)), { recursive: true })
      symlinkSync(ground.outside, join(ground.memory, linked))
      const before = snapshot(ground.home)
      expect(outcome(() => inFolder(dir, (folder) => folder.write('x.md', bytes, anything)))).toEqual(refusal())
      expect(scanMemories(dir).items).toEqual([])
      expect(snapshot(ground.home)).toEqual(before)
    },
  )

  it("is made, with the folders on the way, behind links that are the owner's, and nowhere else", () => {
    const ground = makeGround()
    const link = join(ground.home, 'link')
    symlinkSync(ground.outside, link)
    const dir = join(link, 'p/q')
    const before = snapshot(ground.home)
    expect(outcome(() => inFolder(dir, () => {}, { mayBeAt: () => false }))).toEqual(refusal('leads elsewhere'))
    expect(snapshot(ground.home)).toEqual(before)
    inFolder(dir, (folder) => folder.write('x.md', bytes, anything))
    expect(readFileSync(join(ground.outside, 'p/q/x.md'), 'utf8')).toBe('ours\n')
    expect(statSync(join(ground.outside, 'p')).mode & 0o777).toBe(0o700)
    expect(outcome(() => inFolder(join(ground.memory, 'user_role.md/p'), () => {}))).toEqual(refusal('is not a folder'))
  })
})

describe('a new file', () => {
  /** Makes the file that it is told of, unless it is there, after so many microseconds. */
  const MAKER = `
const { writeFileSync } = require('fs')
const { parentPort, workerData: { turn, dir } } = require('worker_threads')
for (let round = 1; Atomics.wait(turn, 0, round - 1) !== 'timed-out'; round++) {
  const end = performance.now() + Atomics.load(turn, 1) / 1000
  while (performance.now() < end);
  let made = 1
  try { writeFileSync(dir + '/race_number_' + round + '.md', 'theirs', { flag: 'wx' }) } catch { made = 0 }
  Atomics.store(turn, 2, made)
  Atomics.store(turn, 3, round)
  Atomics.notify(turn, 3)
}`

  it('never overwrites one that another program makes at that very moment', async () => {
    const ground = makeGround()
    const folder = open(ground)
    const turn = new Int32Array(new SharedArrayBuffer(16))
    const maker = new Worker(MAKER, { eval: true, workerData: { turn, dir: ground.memory } })
    onTestFinished(async () => void (await maker.terminate()))
    await once(maker, 'online')
    const seen = { ours: 0, theirs: 0, lost: 0 }
    let usual = 500
    for (let round = 1; round <= 500; round++) {
      Atomics.store(turn, 1, Math.round(usual * (0.5 + Math.random())))
      Atomics.store(turn, 0, round)
      Atomics.notify(turn, 0)
      const file = `race_number_${round}.md`
      const startedMs = performance.now()
      const came = outcome(() => folder.write(file, bytes, { expect: null }))
      usual += ((performance.now() - startedMs) * 1_000 - usual) / 10
      Atomics.wait(turn, 3, round - 1, 10_000)
      const isTheirs = Atomics.load(turn, 2) === 1
      const isKept = readFileSync(join(ground.memory, file), 'utf8') === (isTheirs ? 'theirs' : 'ours\n')
      if (!isKept) seen.lost++
      else if (isTheirs) seen.theirs++
      else seen.ours++
      expect(came).toEqual(isTheirs ? expect.objectContaining({ code: 'CONFLICT' }) : 'written')
    }
    expect(seen).toEqual({ ours: expect.toSatisfy(isSome), theirs: expect.toSatisfy(isSome), lost: 0 })
    expect(folder.sweep()).toEqual([])
  })

  it('is written where the file system knows no second names, and there, too, not over another', async (context) => {
    const ground = makeGround()
    const folder = open(ground)
    await withoutLinks(context)
    expect(outcome(() => linkSync(join(ground.memory, 'user_role.md'), join(ground.memory, 'two.md')))).toMatchObject({
      code: 'EPERM',
    })
    folder.write('new_file.md', bytes, { expect: null })
    expect(folder.read('new_file.md')?.bytes).toEqual(bytes)
    expect(outcome(() => folder.write('user_role.md', bytes, { expect: null }))).toMatchObject({ code: 'CONFLICT' })
    expect(folder.sweep()).toEqual([])
  })
})

/** From now on the system gives no file a second name, as some file systems do. */
async function withoutLinks(context: TestContext): Promise<void> {
  needPrograms(context, 'strace')
  const inject = ['-e', 'trace=link,linkat', '-e', 'inject=link,linkat:error=EPERM']
  const tracer = spawn('strace', ['-f', '-o', '/dev/null', ...inject, '-p', `${process.pid}`])
  const exited = once(tracer, 'exit')
  onTestFinished(async () => {
    tracer.kill('SIGINT')
    await exited
  })
  const [words] = await Promise.race([once(tracer.stderr, 'data'), exited])
  if (!String(words).includes('attached')) context.skip('cannot trace a process here')
}

function isSome(count: number): boolean {
  return count > 0
}
