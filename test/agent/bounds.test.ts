import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { topic } from '../support/memory.ts'
import { agentGround } from './rig.ts'

/** The most that was computed at once while no other work had a turn; other programs on the machine do not count. */
async function longestHold<T>(act: () => Promise<T>): Promise<{ result: T; heldMs: number }> {
  let [last, heldMs] = [process.cpuUsage(), 0]
  let isOver = false
  const look = () => {
    const { user, system } = process.cpuUsage(last)
    heldMs = Math.max(heldMs, (user + system) / 1_000)
    last = process.cpuUsage()
    if (!isOver) setImmediate(look)
  }
  setImmediate(look)
  const result = await act()
  look()
  isOver = true
  return { result, heldMs }
}

async function manyFiles() {
  const ground = await agentGround()
  for (let folder = 0; folder < 10; folder++) {
    mkdirSync(join(ground.project, `d${folder}`))
    for (let n = 0; n < 200; n++) writeFileSync(join(ground.project, `d${folder}`, `${'a'.repeat(200)}${n}`), 'x\n')
  }
  return ground
}

describe('one call of a tool', () => {
  it.each([
    ['stars', '*a'.repeat(200)],
    ['choices', `{${'a,'.repeat(200)}b}`],
  ])('takes no pattern of hundreds of %s, wherever one is taken', async (_what, pattern) => {
    const { tools, project } = await agentGround()
    const { run } = tools()
    for (const [name, input] of [
      ['Glob', { pattern, path: project }],
      ['Grep', { pattern: 'x', glob: pattern, path: project }],
      ['Bash', { command: `find ${project} -name '${pattern}'` }],
      ['Bash', { command: `find ${project} -iname '${pattern}'` }],
      ['Bash', { command: `find ${project} -path '${pattern}'` }],
      ['Bash', { command: `grep -r '--include=${pattern}' x ${project}` }],
    ] as const)
      expect(await run(name, input)).toEqual({ content: expect.stringMatching(/^Denied: .*plainly/), isError: true })
  })

  it('blocks no other work while it looks through many names, and ends soon after it is stopped', async () => {
    const { tools, project } = await manyFiles()
    const pattern = `**/${'*a'.repeat(18)}b`
    const calls: [string, unknown][] = [
      ['Glob', { pattern, path: project }],
      ['Bash', { command: `find ${project} -name '${pattern.slice(3)}'` }],
      ['Grep', { pattern: 'x', glob: pattern, path: project }],
      ['Bash', { command: `find ${project} -mtime -1` }],
      ['Bash', { command: `ls -l ${project}/d1` }],
    ]
    for (const call of calls) {
      const { heldMs } = await longestHold(() => tools().run(...call))
      expect([call, heldMs < 200]).toEqual([call, true])
    }
    for (const [name, input] of calls.slice(0, 2)) {
      const abort = new AbortController()
      const running = tools().runner.run({ name, input }, abort.signal)
      await new Promise((resolve) => setImmediate(resolve))
      abort.abort()
      expect(await running).toEqual({ content: 'it was stopped', isError: true })
    }
  })

  it('makes no more of a file than it shows, whatever the file holds and however often it is named', async () => {
    const { tools, project } = await agentGround()
    const file = join(project, 'newlines')
    writeFileSync(file, '\n'.repeat(3_900_000))
    const { run } = tools()
    const cut = { content: expect.stringMatching(/\(cut here; ask for less\)$/), isError: false }
    const often = `${file} `.repeat(90)
    for (const [name, input, answer] of [
      ['Bash', { command: `cat -n ${file}` }, cut],
      ['Bash', { command: `cat ${file} ${file} ${file}` }, cut],
      ['Bash', { command: `tail -n 900000 ${file}` }, cut],
      ['Bash', { command: `wc ${file}` }, { content: `3900000 0 3900000 ${file}\n`, isError: false }],
      ['Read', { file_path: file, offset: 3_899_999 }, { content: expect.stringMatching(/^\(lines/), isError: false }],
      ['Bash', { command: `head -n 900000 ${often}`.slice(0, 3_900).replace(/ \S*$/, '') }, cut],
    ] as const) {
      const { result, heldMs } = await longestHold(() => run(name, input))
      expect(result).toEqual(answer)
      expect([input, heldMs < 1_000]).toEqual([input, true])
    }
    writeFileSync(file, 'x'.repeat(4_000_001))
    expect((await run('Read', { file_path: file })).content).toMatch(/larger than 4000000 bytes/)
  })

  it('tells many lines of one file', async () => {
    const { tools, project } = await agentGround()
    writeFileSync(join(project, 'many'), 'a line of it\n'.repeat(1_200))
    const { content } = await tools().run('Bash', { command: `grep line ${project}/many` })
    expect(content).toBe(`${'a line of it\n'.repeat(1_000)}(there is more)\n`)
  })

  it('tells one answer only so much', async () => {
    const { tools, project } = await agentGround()
    writeFileSync(join(project, 'long'), 'word '.repeat(10_000))
    const { runner } = tools()
    const { signal } = new AbortController()
    const read = () => runner.run({ name: 'Bash', input: { command: `cat ${project}/long` } }, signal)
    const answers = await Promise.all(Array.from({ length: 12 }, read))
    expect(answers.map(({ isError }) => isError)).toEqual([...Array(9).fill(false), true, true, true])
    runner.delivered()
    expect((await read()).isError).toBe(false)
  })

  it('makes no text longer than a memory may be, and throws nothing', async () => {
    const { tools, put } = await agentGround()
    put('known.md', 'a'.repeat(30_000))
    const { run, copy } = tools()
    await run('Read', { file_path: 'known.md' })
    const edit = { file_path: 'known.md', old_string: 'a', new_string: 'b'.repeat(200_000), replace_all: true }
    expect((await run('Edit', edit)).content).toMatch(/Denied: .*longer than/)
    expect(copy.drafts()).toEqual([])
    const check = async () => {
      throw new Error('the disk is gone')
    }
    expect(
      await tools({ may: 'memory' }, { check }).run('Write', { file_path: 'new.md', content: topic('x') }),
    ).toEqual({ content: 'Write did not work: the disk is gone', isError: true })
  })
})
