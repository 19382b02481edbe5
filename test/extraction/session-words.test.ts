import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { localStamp, slicesOf, timesOf, wordsIn, writesInto } from '../../daemon/extraction/session-words.ts'
import type { MessageRow, MessageTable } from '../../daemon/sessions/message-table.ts'
import { makeHome } from '../support/home.ts'

/** A session of which every line is one message. */
function sessionOf(said: readonly { by: 'person' | 'agent'; text: string }[]) {
  const path = join(makeHome().dir, 's.jsonl')
  const lines = said.map(({ by, text }, n) =>
    JSON.stringify({ type: by === 'person' ? 'user' : 'assistant', id: `m${n}`, text }),
  )
  writeFileSync(path, lines.join('\n'))
  let offset = 0
  const part = said.map(({ by }, n) => {
    const length = Buffer.byteLength(lines[n] as string)
    const message = { id: n + 1, uid: `m${n}`, by, harness: 'generic', path, offset, length }
    offset += length + 1
    return message as MessageRow
  })
  const sessions = {
    agentBefore: (_row: number, id: number) => part.filter((each) => each.by === 'agent' && each.id < id).reverse(),
  } as MessageTable
  return { words: wordsIn(sessions, 1, part, new AbortController().signal), path }
}

it('gives what persons said one by one: the next is read when it is asked for', async () => {
  const { words, path } = sessionOf([1, 2, 3].map((n) => ({ by: 'person' as const, text: `word ${n}` })))
  expect((await words.next()).value).toMatchObject({ text: 'word 1' })
  expect((await words.next()).value).toMatchObject({ text: 'word 2' })
  truncateSync(path)
  expect(await words.next()).toEqual({ done: true, value: undefined })
})

it('takes the beginning of what was pasted and the end of the answer before it, and neither up to where they were cut', async () => {
  const { words } = sessionOf([
    { by: 'agent', text: `${'a '.repeat(25_000)} shall I?` },
    { by: 'person', text: `always do it ${'p '.repeat(100_000)}` },
  ])
  const { value } = await words.next()
  expect(value?.text).toHaveLength(72_000)
  expect(value?.text).toMatch(/^always do it [p ]+$/)
  expect(value?.previousAssistant).toHaveLength(8_000)
  expect(value?.previousAssistant).toMatch(/^[a ]+ shall I\?$/)
})

const message = (id: number, by: string, length: number, more: Partial<MessageRow> = {}): MessageRow => ({
  id,
  uid: `u${id}`,
  harness: 'h',
  path: '/t.jsonl',
  offset: 0,
  length,
  at: id,
  by,
  startsTurn: by === 'person' ? 1 : 0,
  ends: null,
  toolCalls: 0,
  tokens: null,
  ...more,
})

it('keeps turns together as long as they fit, and parts one that does not fit by itself', () => {
  const turn = (from: number) => [message(from, 'person', 400), message(from + 1, 'agent', 400)]
  expect(slicesOf([...turn(1), ...turn(3), ...turn(5)], 400).map((slice) => slice.map(({ id }) => id))).toEqual([
    [1, 2, 3, 4],
    [5, 6],
  ])
  const long = [message(1, 'person', 400), ...Array.from({ length: 150 }, (_, n) => message(n + 2, 'tool', 5_000))]
  const slices = slicesOf([...long, message(200, 'person', 400)])
  expect(slices.flat()).toHaveLength(152)
  for (const slice of slices) expect(slice.filter(({ by }) => by === 'tool').length).toBeLessThanOrEqual(36)
  expect(slices[0]?.[0]?.id).toBe(1)
})

it('knows when everything was said, also what says nothing of the time', () => {
  const part = [message(1, 'person', 1, { at: null }), message(2, 'agent', 1), message(3, 'person', 1, { at: null })]
  expect(part.map(timesOf(part, 99))).toEqual([99, 2, 2])
})

afterEach(() => vi.unstubAllEnvs())

it.each([
  ['UTC', '2026-11-16T23:30:00.000+00:00'],
  ['Asia/Shanghai', '2026-11-17T07:30:00.000+08:00'],
  ['America/St_Johns', '2026-11-16T20:00:00.000-03:30'],
])('is the day that a person in %s has', (zone, stamp) => {
  vi.stubEnv('TZ', zone)
  expect(localStamp(Date.UTC(2026, 10, 16, 23, 30))).toBe(stamp)
})

it('is the day where it was said, if that is known, wherever the machine stands', () => {
  vi.stubEnv('TZ', 'Pacific/Kiritimati')
  expect(localStamp(Date.UTC(2026, 10, 1, 10, 30), -660)).toBe('2026-10-31T23:30:00.000-11:00')
})

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
