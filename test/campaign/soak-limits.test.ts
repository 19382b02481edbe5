import { expect, it } from 'vitest'
import { limits, type Minute, type Soaked } from './soak-limits.ts'

const minute: Minute = { hooks: 1_000, late: 0, hookP99Ms: 9, recallP99Ms: 9, errors: 0, rssBytes: 100, files: 30 }
const soaked: Soaked = { minutes: Array(6).fill(minute), logged: 0, writes: 10, writtenBytes: 10_240 }
const grown = (more: Partial<Minute>) => [...Array(4).fill(minute), ...Array(2).fill({ ...minute, ...more })]

it.each<[string, Partial<Soaked>, string[]]>([
  ['nothing', {}, []],
  ['one error that an agent was answered', { minutes: grown({ errors: 1 }) }, ['errors that agents were answered']],
  ['one error in the log', { logged: 1 }, ['errors in the log']],
  ['61 of 6,000 hooks late', { minutes: [...Array(5).fill(minute), { ...minute, late: 61 }] }, ['late hooks']],
  ['60 of 6,000 hooks late', { minutes: [...Array(5).fill(minute), { ...minute, late: 60 }] }, []],
  [
    'a third of the time with 6 % more memory',
    { minutes: grown({ rssBytes: 106 }) },
    ['memory, last third over second'],
  ],
  ['a third of the time with less memory', { minutes: grown({ rssBytes: 50 }) }, []],
  ['a file that stays open', { minutes: grown({ files: 31 }) }, ['open files, last third over second']],
  ['5 KB a write', { writtenBytes: 51_200 }, ['history.db per write']],
])('a soak with %s misses what it should', (_what, more, expected) => {
  const missed = limits({ ...soaked, ...more }).filter(({ isKept }) => !isKept)
  expect(missed.map(({ what }) => what)).toEqual(expected)
})
