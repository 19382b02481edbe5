import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { makeHome } from '../support/home.ts'
import { needPrograms } from '../support/programs.ts'

const program = fileURLToPath(new URL('../support/turn-end-program.ts', import.meta.url))
const TURNS = 200

it('the end of a turn costs one stat of the lock and no look into the directory', (context) => {
  needPrograms(context, 'strace')
  const { dir } = makeHome()
  const trace = join(dir, 'trace')
  execFileSync('strace', [
    '-f',
    '-o',
    trace,
    '-e',
    'trace=file,getdents64,write',
    process.execPath,
    program,
    dir,
    String(TURNS),
  ])
  const lines = readFileSync(trace, 'utf8').split('\n')
  const begin = lines.findIndex((line) => line.includes('write(1, "begin'))
  const end = lines.findIndex((line) => line.includes('write(1, "end'))
  expect(begin).toBeGreaterThan(0)
  const meanwhile = lines.slice(begin + 1, end).filter((line) => !line.includes('/proc/') && line.includes('('))
  const stats = meanwhile.filter((line) => /stat[a-z0-9]*\(/.test(line) && line.includes('/memory/.consolidate-lock'))
  expect(stats).toHaveLength(TURNS)
  expect(meanwhile.filter((line) => line.includes('/memory') && !stats.includes(line))).toEqual([])
  expect(meanwhile.filter((line) => line.includes('getdents'))).toEqual([])
})
