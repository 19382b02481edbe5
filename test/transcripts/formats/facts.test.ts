import { describe, expect, it } from 'vitest'
import { toolInput } from '../../../daemon/transcripts/formats/facts.ts'

describe('the input of a tool', () => {
  it.each([
    ['Bash', { command: 'ls -l', description: 'list', timeout: 5 }, 'ls -l'],
    ['exec_command', { cmd: 'ls', workdir: '/work' }, 'ls'],
    ['shell', { command: ['bash', '-lc', 'ls'] }, 'bash -lc ls'],
    ['mcp__x__run', { command: 'ls' }, 'ls'],
    ['edit', { command: 'create', path: '/a' }, '{"command":"create","path":"/a"}'],
    ['Bash', { description: 'no command' }, '{"description":"no command"}'],
    [
      'Read',
      { file_path: '/a', limit: null, pages: [1, true, 'x'] },
      '{"file_path":"/a","limit":null,"pages":[1,true,"x"]}',
    ],
    ['apply_patch', '*** Begin Patch', '*** Begin Patch'],
    ['f', undefined, ''],
    ['f', null, 'null'],
  ])('of %s, %j, is %j', (name, input, text) => {
    expect(toolInput(name, input)).toBe(text)
  })

  it('is cut where it is too deep or too long, and stays JSON', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(20)}1${'}'.repeat(20)}`) as unknown
    expect(toolInput('f', { deep })).toBe(`{"deep":${'{"a":'.repeat(7)}"…"${'}'.repeat(7)}}`)
    const long = toolInput('Write', { content: 'x'.repeat(1_000_000), path: '/a', more: Array(100_000).fill('y') })
    expect(long.length).toBeLessThan(17_000)
    expect(Object.keys(JSON.parse(long) as object)).toEqual(['content'])
  })
})
