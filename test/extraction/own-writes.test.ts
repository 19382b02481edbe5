import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { writesInto } from '../../daemon/extraction/own-writes.ts'
import { makeHome } from '../support/home.ts'

it('knows a write into the memory directory by whatever path, and takes no other for one', () => {
  const { dir: home } = makeHome()
  const cwd = join(home, 'project')
  const memories = join(home, 'memories')
  mkdirSync(cwd)
  mkdirSync(memories)
  symlinkSync(memories, join(cwd, 'link'))
  const json = (input: object) => JSON.stringify(input)
  const calls: [name: string, input: string, inside: boolean][] = [
    ['Write', json({ file_path: join(memories, 'a.md'), content: 'x' }), true],
    ['Edit', json({ file_path: '../memories/deep/a.md' }), true],
    ['write_file', json({ path: '~/memories/a.md' }), true],
    ['Write', json({ file_path: 'link/new/a.md' }), true],
    ['apply_patch', `*** Begin Patch\n*** Add File: ${memories}/a.md\n+x\n*** End Patch`, true],
    ['shell', `apply_patch <<'E'\n*** Update File: ../memories/a.md\n@@\nE`, true],
    ['apply_patch', json({ input: `*** Begin Patch\n*** Delete File: ${memories}/a.md\n` }), true],
    ['Read', json({ file_path: join(memories, 'a.md') }), false],
    ['Write', json({ file_path: `${memories}-old/a.md` }), false],
    ['Write', json({ file_path: join(memories, '../project/a.md') }), false],
    ['Bash', `cat ${memories}/a.md`, false],
    ['Write', 'no json', false],
  ]
  for (const [name, input, inside] of calls)
    expect([name, input, writesInto(memories, { name, input }, { cwd, home })]).toEqual([name, input, inside])
})
