import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { dailyLogs } from '../../daemon/dream/daily-logs.ts'
import { makeHome } from '../support/home.ts'

it('finds the logs of the days since then, oldest first, and follows no link', () => {
  const { dir } = makeHome()
  const put = (file: string) => {
    mkdirSync(dirname(join(dir, file)), { recursive: true })
    writeFileSync(join(dir, file), `- said in ${file}\n`)
  }
  for (const day of ['2025/12/2025-12-31', '2026/03/2026-03-01', '2026/03/2026-03-02', '2026/04/2026-04-01'])
    put(`logs/${day}.md`)
  for (const odd of ['logs/2026/03/notes.md', 'logs/2026/03/2026-04-09.md', 'logs/x/2026-03-02.md']) put(odd)
  symlinkSync(join(dir, 'logs/2026/03/notes.md'), join(dir, 'logs/2026/04/2026-04-02.md'))
  const names = (since: number | undefined) => dailyLogs(dir, since).logs.map(({ file }) => file.slice(-13, -3))
  expect(names(undefined)).toEqual(['2025-12-31', '2026-03-01', '2026-03-02', '2026-04-01'])
  expect(names(Date.UTC(2026, 2, 3))).toEqual(['2026-03-02', '2026-04-01'])
  expect(dailyLogs(dir, Date.UTC(2026, 3, 2))).toEqual({
    logs: [{ file: 'logs/2026/04/2026-04-01.md', bytes: 37, text: '- said in logs/2026/04/2026-04-01.md\n' }],
    left: 0,
  })
  expect(dailyLogs(join(dir, 'nothing'), undefined)).toEqual({ logs: [], left: 0 })
})

it.each([
  ['too many', 75, 10, [60, 15]],
  ['too long together', 10, 50_000, [2, 2, 2, 2, 2]],
  ['too long each', 3, 500_000, [1, 1, 1]],
])('those that are %s for one dream are there for the next, and none is left out', (_what, count, bytes, taken) => {
  const { dir } = makeHome()
  const days = Array.from({ length: count }, (_, n) => new Date(Date.UTC(2026, 0, 1 + n)).toISOString().slice(0, 10))
  for (const day of days) {
    const folder = join(dir, 'logs', day.slice(0, 4), day.slice(5, 7))
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `${day}.md`), 'x'.repeat(bytes))
  }
  const seen: string[][] = []
  let sinceMs: number | undefined
  while (seen.length < count) {
    const { logs, left, to } = dailyLogs(dir, sinceMs)
    seen.push(logs.map(({ file }) => file.slice(-13, -3)))
    expect(left > 0).toBe(to !== undefined)
    if (to === undefined) break
    expect(to).toBe(seen.at(-1)?.at(-1))
    // As the next one asks.
    sinceMs = Date.parse(to) + 2 * 86_400_000
  }
  expect(seen.flat()).toEqual(days)
  expect(seen.map(({ length }) => length)).toEqual(taken)
})

it('tells of a log however long it is, and looks into no folder that is a link', () => {
  const { dir } = makeHome()
  const log = (file: string, text: string) => {
    mkdirSync(dirname(join(dir, file)), { recursive: true })
    writeFileSync(join(dir, file), text)
  }
  log('logs/2026/03/2026-03-01.md', 'long '.repeat(300_000))
  log('elsewhere/2026-04-01.md', 'not a log')
  symlinkSync(join(dir, 'elsewhere'), join(dir, 'logs/2026/04'))
  const { logs: found } = dailyLogs(dir, undefined)
  expect(found.map(({ file, bytes }) => ({ file, bytes }))).toEqual([
    { file: 'logs/2026/03/2026-03-01.md', bytes: 1_500_000 },
  ])
  expect(found[0]?.text).toHaveLength(1_000_000)
})
