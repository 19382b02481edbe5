import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { dailyLogs } from '../../daemon/dream/daily-logs.ts'
import { makeHome } from '../support/home.ts'

it('finds the logs of the days since then, newest first, and follows no link', () => {
  const { dir } = makeHome()
  const put = (file: string) => {
    mkdirSync(dirname(join(dir, file)), { recursive: true })
    writeFileSync(join(dir, file), `- said in ${file}\n`)
  }
  for (const day of ['2025/12/2025-12-31', '2026/03/2026-03-01', '2026/03/2026-03-02', '2026/04/2026-04-01'])
    put(`logs/${day}.md`)
  for (const odd of ['logs/2026/03/notes.md', 'logs/2026/03/2026-04-09.md', 'logs/x/2026-03-02.md']) put(odd)
  symlinkSync(join(dir, 'logs/2026/03/notes.md'), join(dir, 'logs/2026/04/2026-04-02.md'))
  const names = (since: number | undefined) => dailyLogs(dir, since).map(({ file }) => file.slice(-13, -3))
  expect(names(undefined)).toEqual(['2026-04-01', '2026-03-02', '2026-03-01', '2025-12-31'])
  expect(names(Date.UTC(2026, 2, 3))).toEqual(['2026-04-01', '2026-03-02'])
  expect(dailyLogs(dir, Date.UTC(2026, 3, 2))).toEqual([
    { file: 'logs/2026/04/2026-04-01.md', bytes: 37, text: '- said in logs/2026/04/2026-04-01.md\n' },
  ])
  expect(dailyLogs(join(dir, 'nothing'), undefined)).toEqual([])
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
  const found = dailyLogs(dir, undefined)
  expect(found.map(({ file, bytes }) => ({ file, bytes }))).toEqual([
    { file: 'logs/2026/03/2026-03-01.md', bytes: 1_500_000 },
  ])
  expect(found[0]?.text).toHaveLength(1_000_000)
})
