import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { DEFAULT_TEMPLATE, readCustom } from '../../daemon/notes/template.ts'
import { makeHome } from '../support/home.ts'

function ground() {
  const claudeDir = join(makeHome().dir, '.claude')
  const folder = join(claudeDir, 'session-memory', 'config')
  mkdirSync(folder, { recursive: true })
  return { claudeDir, template: join(folder, 'template.md'), prompt: join(folder, 'prompt.md') }
}
const plain = { template: DEFAULT_TEMPLATE, prompt: undefined }

it('is nothing but what comes along where a person has none', () => {
  expect(readCustom('/nowhere')).toEqual({ ...plain, problems: [] })
  expect(readCustom(ground().claudeDir)).toEqual({ ...plain, problems: [] })
})

it('is taken from two files, each by itself', () => {
  const { claudeDir, template, prompt } = ground()
  writeFileSync(template, '# Goal\n_What for_\n')
  const goal = [{ title: 'Goal', heading: '# Goal', about: '_What for_', body: '' }]
  expect(readCustom(claudeDir)).toEqual({ template: goal, prompt: undefined, problems: [] })
  writeFileSync(prompt, 'Note {{currentNotes}}')
  rmSync(template)
  expect(readCustom(claudeDir)).toEqual({ template: DEFAULT_TEMPLATE, prompt: 'Note {{currentNotes}}', problems: [] })
})

it('is left aside and told where it cannot be used', () => {
  const { claudeDir, template, prompt } = ground()
  const problems = () => {
    const { problems: found, ...rest } = readCustom(claudeDir)
    expect(rest).toEqual(plain)
    return found
  }
  writeFileSync(template, 'no heading')
  writeFileSync(prompt, ' \n')
  expect(problems()).toEqual([
    `${template} cannot be used: something stands before its first heading`,
    `${prompt} is empty`,
  ])
  writeFileSync(template, `# A\n${'x'.repeat(24_000)}`)
  writeFileSync(prompt, 'x'.repeat(64_001))
  expect(problems()).toEqual([
    `${template} is 24004 bytes long, and at most 24000 can be used`,
    `${prompt} is 64001 bytes long, and at most 64000 can be used`,
  ])
  writeFileSync(template, Buffer.from([0x23, 0x20, 0x41, 0xff]))
  writeFileSync(prompt, 'a\0b')
  expect(problems()).toEqual([`${template} is not text in UTF-8`, `${prompt} is not text in UTF-8`])
  rmSync(template)
  mkdirSync(template)
  rmSync(prompt)
  execFileSync('mkfifo', [prompt])
  expect(problems()).toEqual([`${template} is not a file`, `${prompt} is not a file`])
  rmSync(prompt)
  symlinkSync(prompt, prompt)
  expect(problems()).toEqual([expect.any(String), expect.stringContaining(`${prompt} cannot be read: ELOOP`)])
})

it.skipIf(process.getuid?.() === 0)('is told where it is closed to us', () => {
  const { claudeDir, prompt } = ground()
  writeFileSync(prompt, 'x')
  chmodSync(prompt, 0)
  expect(readCustom(claudeDir)).toEqual({ ...plain, problems: [expect.stringContaining('EACCES')] })
})
