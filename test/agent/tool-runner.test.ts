import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findLines } from '../../daemon/agent/grep.ts'
import { topic } from '../support/memory.ts'
import { agentGround } from './rig.ts'

const told = (content: string) => ({ content, isError: false })

async function ground() {
  const ground = await agentGround()
  ground.put('build.md', 'The build takes an hour.')
  ground.put('release.md', 'The release is on Friday.')
  mkdirSync(join(ground.project, 'src'))
  writeFileSync(join(ground.project, 'src/main.ts'), 'one\ntwo three\nfour\n')
  writeFileSync(join(ground.transcripts, 's.jsonl'), '{"said":"hour"}\n')
  return ground
}

describe('tools', () => {
  it('read files, parts of them, and find lines and names', async () => {
    const { tools, memory, project, transcripts } = await ground()
    const { run } = tools()
    const main = join(project, 'src/main.ts')
    expect(await run('Read', { file_path: 'build.md' })).toEqual(told(topic('The build takes an hour.')))
    expect(await run('Read', { file_path: main, offset: 2, limit: 1 })).toEqual(told('(lines 2 on, of 4)\ntwo three'))
    expect(await run('Read', { file_path: 'none.md' })).toEqual({ content: 'there is no "none.md"', isError: true })
    expect(await run('Grep', { pattern: 't[wh]o ', path: project })).toEqual(told(`${main}:2:two three`))
    expect(await run('Grep', { pattern: 'HOUR', '-i': true, output_mode: 'files_with_matches' })).toEqual(
      told(`${memory}/build.md`),
    )
    expect(await run('Grep', { pattern: 'o', path: project, output_mode: 'count', glob: '*.ts' })).toEqual(
      told(`${main}:3`),
    )
    expect(await run('Grep', { pattern: '(' })).toEqual({
      content: expect.stringContaining('is not understood'),
      isError: true,
    })
    expect(await run('Glob', { pattern: '**/*.ts', path: project })).toEqual(told(main))
    expect(await run('Grep', { pattern: 'said', path: transcripts })).toEqual(
      told(`${transcripts}/s.jsonl:1:{"said":"hour"}`),
    )
  })

  it('know the reading commands as far as they only shape what is shown', async () => {
    const { tools, memory, project } = await ground()
    const { run } = tools()
    const bash = async (command: string) => (await run('Bash', { command })).content
    utimesSync(join(memory, 'build.md'), 1_700_000_000, 1_700_000_000)
    expect(await bash('ls')).toBe('build.md\nrelease.md\n')
    expect(await bash(`ls -l build.md`)).toMatch(/^2023-11-14T22:13:20Z +\d+ build\.md\n$/)
    expect(await bash(`ls ${project}`)).toBe('src/\n')
    expect(await bash(`ls -tr`)).toBe('build.md\nrelease.md\n')
    expect(await bash(`find ${project} -name '*.ts' -type f`)).toBe(`${project}/src/main.ts\n`)
    expect(await bash(`find . -mtime +30`)).toBe(`${memory}/build.md\n`)
    expect(await bash(`cat -n ${project}/src/main.ts`)).toBe('1\tone\n2\ttwo three\n3\tfour\n')
    expect(await bash(`head -n 1 ${project}/src/main.ts`)).toBe('one\n')
    expect(await bash(`tail -2 "${project}/src/main.ts"`)).toBe('two three\nfour\n')
    expect(await bash(`wc ${project}/src/main.ts`)).toBe(`3 4 19 ${project}/src/main.ts\n`)
    expect(await bash(`stat build.md`)).toMatch(/^build\.md: file, \d+ bytes, modified 2023-11-14T22:13:20Z\n$/)
    expect(await bash(`grep -n 'hour\\|Friday' build.md release.md`)).toBe(
      `${memory}/build.md:7:The build takes an hour.\n${memory}/release.md:7:The release is on Friday.\n`,
    )
    expect(await bash(`grep -rlE --include=*.md 'hour|Friday'`)).toBe(`${memory}/build.md\n${memory}/release.md\n`)
  })

  it('end a search that never would, and one that was stopped', async () => {
    const { clock } = await ground()
    const what = { pattern: 'b', form: 'extended', ignoreCase: false, invert: false, word: false } as const
    async function* endless() {
      for (;;) yield { path: 'a', text: 'a\n'.repeat(10_000) }
    }
    const search = (signal: AbortSignal, limitMs: number) =>
      findLines(endless(), what, { clock, signal, searchPath: '/usr/bin:/bin', limitMs })
    const tooLong = { failed: '"b" took too long; look for something simpler' }
    expect(await search(new AbortController().signal, 50)).toEqual(tooLong)
    expect(await search(AbortSignal.timeout(50), 60_000)).toEqual(tooLong)
    const nowhere = { clock, signal: new AbortController().signal, searchPath: '/nowhere' }
    expect(await findLines(endless(), what, nowhere)).toEqual({
      failed: expect.stringMatching(/^grep could not be run/),
    })
  })

  it('deny an input that is nested beyond all depth, and count what is denied unseen', async () => {
    const { tools, denied } = await ground()
    const { run, runner } = tools()
    const deep: unknown = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`)
    expect(await run('Read', { file_path: 'build.md', x: deep })).toEqual({
      content: 'Denied: the input of Read is nested too deeply',
      isError: true,
    })
    expect(await runner.deny('Task', 'no more')).toEqual({ content: 'Denied: no more', isError: true })
    expect([runner.denials(), denied().map(({ tool }) => tool)]).toEqual([2, ['Read', 'unknown']])
  })

  it('tell a change of what is no memory from a slip of the pen', async () => {
    const { tools, project, memory } = await ground()
    const { run, runner } = tools()
    const write = (file_path: string) => run('Write', { file_path, content: topic('x') })
    const byHome = `~/${memory.split('/').slice(-2).join('/')}/build.md`
    for (const slip of [byHome, '.', 'build.txt', 'a\0b.md']) await write(slip)
    await run('Read', { file_path: '/etc/passwd' })
    expect([runner.denials(), runner.astray()]).toEqual([5, 0])
    for (const file of ['../x.md', '/x.md', join(project, 'x.md'), '.ssh/../../../x.md']) await write(file)
    for (const file of ['~/.bashrc', '~/notes/build.md', '~root/x.md', 'file:///x.md', '../a\0b.md']) await write(file)
    await run('Edit', { file_path: join(project, 'src/main.ts'), old_string: 'one', new_string: 'two' })
    expect([runner.denials(), runner.astray()]).toEqual([15, 10])
  })

  it('send no credential upstream', async () => {
    const { tools, project } = await ground()
    const key = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`
    writeFileSync(join(project, '.env'), `TOKEN=${key}\n`)
    const { run } = tools()
    for (const [name, input] of [
      ['Read', { file_path: `${project}/.env` }],
      ['Grep', { pattern: 'TOKEN', path: project }],
      ['Bash', { command: `cat ${project}/.env` }],
    ] as const)
      expect((await run(name, input)).content).not.toContain(key)
  })
})

describe('a credential of several lines', () => {
  const body = Array.from({ length: 30 }, (_, n) => `MIIEow${String(n).padStart(3, '0')}${'aB3dE5gH7jK9'.repeat(4)}`)
  const lines = ['# keys', '-----BEGIN RSA PRIVATE KEY-----', ...body, '-----END RSA PRIVATE KEY-----', 'the end']

  it.each([
    ['a short file', 0],
    ['a file too long to be looked through as a whole', 120_000],
  ])('is told by no part of it: %s', async (_what, more) => {
    const { tools, project } = await ground()
    const file = join(project, 'key.txt')
    const others = 'some other words that stand before it\n'.repeat(more)
    writeFileSync(file, `${others}${lines.join('\n')}\n`)
    const at = more + 10
    const { run } = tools()
    for (const [name, input] of [
      ['Read', { file_path: file, offset: at, limit: 5 }],
      ['Bash', { command: `head -n ${at} ${file}` }],
      ['Bash', { command: `tail -n 9 ${file}` }],
      ['Bash', { command: `cat -n ${file}` }],
      ['Grep', { pattern: 'MIIEow', path: file }],
      ['Bash', { command: `grep -n MIIEow ${file}` }],
    ] as const) {
      const { content } = await run(name, input)
      expect([name, input, /MIIEow\d/.test(content)]).toEqual([name, input, false])
    }
    expect((await run('Grep', { pattern: 'MIIEow01|the end', path: file })).content).toBe(
      [
        ...Array.from({ length: 10 }, (_, n) => `${file}:${more + n + 13}:[left out: part of a credential]`),
        `${file}:${more + 34}:the end`,
      ].join('\n'),
    )
  })
})

describe('changes of a run', () => {
  it('are seen by its own reads and are nowhere on disk', async () => {
    const { tools, memory } = await ground()
    const { run, copy } = tools()
    const fresh = topic('The office is in Kyoto.', 'Office')
    await run('Read', { file_path: 'build.md' })
    await run('Read', { file_path: 'release.md' })
    expect(await run('Edit', { file_path: 'build.md', old_string: 'an hour', new_string: '$& a day' })).toEqual(
      told('build.md will be changed'),
    )
    expect(await run('Write', { file_path: join(memory, 'office.md'), content: fresh, evidence: ['m3'] })).toEqual(
      told('office.md will be created'),
    )
    expect(await run('Write', { file_path: 'release.md', content: '' })).toEqual(told('release.md will be taken away'))
    expect((await run('Read', { file_path: 'build.md' })).content).toContain('takes $& a day.')
    expect((await run('Bash', { command: 'ls' })).content).toBe('build.md\noffice.md\n')
    expect((await run('Grep', { pattern: 'Kyoto', output_mode: 'files_with_matches' })).content).toBe(
      `${memory}/office.md`,
    )
    expect((await run('Read', { file_path: 'release.md' })).isError).toBe(true)
    expect(readFileSync(join(memory, 'build.md'), 'utf8')).toBe(topic('The build takes an hour.'))
    expect([existsSync(join(memory, 'office.md')), existsSync(join(memory, 'release.md'))]).toEqual([false, true])
    expect(
      copy.drafts().map(({ file, expect: hash, because }) => [file, hash?.length, because.evidence.length]),
    ).toEqual([
      ['build.md', 64, 0],
      ['office.md', undefined, 1],
      ['release.md', 64, 0],
    ])
  })

  it('need what they change to have been read in an earlier answer, the whole of it to be written over', async () => {
    const { tools } = await ground()
    const { runner } = tools()
    const { signal } = new AbortController()
    const run = (name: string, input: unknown) => runner.run({ name, input }, signal)
    const edit = { file_path: 'build.md', old_string: 'hour', new_string: 'day' }
    await run('Read', { file_path: 'build.md', limit: 2 })
    expect((await run('Edit', edit)).content).toMatch(/Denied: read "build.md" before/)
    runner.delivered()
    expect((await run('Write', { file_path: 'build.md', content: topic('x') })).content).toMatch(/Denied: .*whole/)
    expect((await run('Edit', edit)).content).toBe('build.md will be changed')
  })

  it.each([
    ['written over', 'Write', { content: topic('The build takes a day.') }],
    ['taken away', 'Write', { content: '' }],
    ['edited', 'Edit', { old_string: 'build', new_string: 'long build', replace_all: true }],
  ])('leave alone what a person wrote since it was read: it is not %s', async (_what, name, input) => {
    const { tools, put } = await ground()
    const { run, copy } = tools()
    const change = () => run(name, { file_path: 'build.md', ...input })
    await run('Read', { file_path: 'build.md' })
    put('build.md', 'The build is gone, said a person.')
    const denied = { content: 'Denied: "build.md" has changed since you read it: read it again', isError: true }
    expect(await change()).toEqual(denied)
    // A part of it is not the whole of what is there now.
    await run('Read', { file_path: 'build.md', limit: 2 })
    if (name === 'Write') expect((await change()).content).toMatch(/Denied: .*read the whole/)
    expect(copy.drafts()).toEqual([])
    await run('Bash', { command: 'cat build.md' })
    expect((await change()).isError).toBe(false)
  })

  it('do not bring back what a person took away since it was read', async () => {
    const { tools, memory } = await ground()
    const { run, copy } = tools()
    await run('Read', { file_path: 'build.md' })
    rmSync(join(memory, 'build.md'))
    expect((await run('Write', { file_path: 'build.md', content: topic('x') })).content).toMatch(/taken away since/)
    expect(copy.drafts()).toEqual([])
  })

  it('do not take for the whole what a command has shown only the beginning of', async () => {
    const { tools, put } = await ground()
    put('long.md', `${'some words\n'.repeat(5_000)}the last of them`)
    const write = (file_path: string) => ({ file_path, content: topic('Other.') })
    const writtenAfter = async (command: string, file: string) => {
      const { run } = tools()
      await run('Bash', { command })
      return (await run('Write', write(file))).content
    }
    const whole = /^Denied: .*read the whole of it/
    expect(await writtenAfter('cat long.md', 'long.md')).toMatch(whole)
    expect(await writtenAfter('cat -n long.md', 'long.md')).toMatch(whole)
    expect(await writtenAfter('cat long.md build.md', 'build.md')).toMatch(whole)
    expect(await writtenAfter('cat build.md long.md', 'long.md')).toMatch(whole)
    expect(await writtenAfter('cat build.md long.md', 'build.md')).toBe('build.md will be changed')
    expect(await writtenAfter('cat -n release.md build.md', 'build.md')).toBe('build.md will be changed')
    expect(await writtenAfter('head -n 900 build.md', 'build.md')).toMatch(whole)
  })

  it('rest on what was there before the run, also where it took a file away and wrote it again', async () => {
    const { tools } = await ground()
    const { run, copy } = tools()
    await run('Read', { file_path: 'build.md' })
    await run('Write', { file_path: 'build.md', content: '' })
    await run('Write', { file_path: 'build.md', content: topic('The build takes a day.') })
    await run('Write', { file_path: 'new.md', content: topic('New.') })
    await run('Write', { file_path: 'new.md', content: '' })
    const [draft, ...others] = copy.drafts()
    expect([draft?.content, draft?.expect?.length, others]).toEqual([topic('The build takes a day.'), 64, []])
  })

  it('say why an edit does not fit', async () => {
    const { tools } = await ground()
    const { run, copy } = tools()
    await run('Read', { file_path: 'build.md' })
    const edit = (old_string: string, new_string: string) =>
      run('Edit', { file_path: 'build.md', old_string, new_string })
    expect((await edit('no such', 'x')).content).toMatch(/does not stand in/)
    expect((await edit('i', 'x')).content).toMatch(/stands \d+ times/)
    expect((await edit('hour', 'hour')).content).toMatch(/the same/)
    expect((await edit('---', '')).isError).toBe(true)
    expect(copy.drafts()).toEqual([])
  })

  it('are refused when the gate would refuse them, or when what they cite does not count', async () => {
    const { tools } = await ground()
    const cited = tools({ may: 'memory' }, { cite: () => ({ refused: 'm9 is not one of the messages' }) })
    const gated = tools()
    expect(await cited.run('Write', { file_path: 'new.md', content: topic('x'), evidence: ['m9'] })).toEqual({
      content: 'Denied: m9 is not one of the messages',
      isError: true,
    })
    expect((await gated.run('Write', { file_path: 'new.md', content: 'no front matter' })).content).toMatch(/^Denied: /)
    expect([cited.copy.drafts(), gated.copy.drafts()]).toEqual([[], []])
  })
})
