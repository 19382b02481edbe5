import { appendFileSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Root } from '../../daemon/transcripts/formats/formats.ts'
import { createLooks, createSweep } from '../../daemon/transcripts/sweep.ts'
import { makeHome } from '../support/home.ts'

/** Time stands an hour and more after the files were written, unless they are said to be fresh. */
function rig({ harness = 'generic' } = {}) {
  const path = join(makeHome().dir, 'root')
  const root: Root = { harness, path }
  const nowMs = Date.now() + 7_200_000
  const found: string[] = []
  const looks = createLooks()
  const sweep = createSweep({
    files: { cursor: () => undefined, present: () => [] },
    looks,
    known: new Map(),
    clock: { now: () => nowMs } as never,
    anywhere: { files: async function* () {}, sourceAt: () => ({ left: 'unknown' }) } as never,
    onFound: ({ source, look }) => {
      found.push(source.path.slice(path.length + 1))
      if (look) looks.remember(look)
    },
    room: async () => {},
    signal: new AbortController().signal,
  })
  const write = (name: string, { age }: { age: 'old' | 'fresh' }) => {
    mkdirSync(join(path, name, '..'), { recursive: true })
    writeFileSync(join(path, name), '{}\n')
    if (age === 'fresh') utimesSync(join(path, name), nowMs / 1_000 - 60, nowMs / 1_000 - 60)
  }
  return {
    write,
    append: (name: string) => appendFileSync(join(path, name), '{}\n'),
    whole: async () => {
      await sweep.folder(root, '')
      return found.splice(0).sort()
    },
    lively: async () => {
      await sweep.lively(root)
      return found.splice(0).sort()
    },
  }
}

it('a look at the lively finds what grew of them, and whatever is new', async () => {
  const { write, append, whole, lively } = rig()
  write('a/old.jsonl', { age: 'old' })
  write('a/fresh.jsonl', { age: 'fresh' })
  expect(await whole()).toEqual(['a/fresh.jsonl', 'a/old.jsonl'])
  expect(await lively()).toEqual([])
  append('a/fresh.jsonl')
  write('a/new.jsonl', { age: 'old' })
  write('b/c/new.jsonl', { age: 'old' })
  expect(await lively()).toEqual(['a/fresh.jsonl', 'a/new.jsonl', 'b/c/new.jsonl'])
  expect(await lively()).toEqual([])
})

it('a look at the lively leaves an old file to the watches, and a look at all finds it', async () => {
  const { write, append, whole, lively } = rig()
  write('a/old.jsonl', { age: 'old' })
  expect(await whole()).toEqual(['a/old.jsonl'])
  append('a/old.jsonl')
  expect(await lively()).toEqual([])
  expect(await whole()).toEqual(['a/old.jsonl'])
})

it('where more files are lively than are kept in mind, a look at the lively is one at all', async () => {
  const { write, append, whole, lively } = rig()
  const names = Array.from({ length: 2_001 }, (_, n) => `a/${n}.jsonl`)
  for (const name of names) write(name, { age: 'fresh' })
  expect(await whole()).toEqual(names.toSorted())
  for (const name of names) append(name)
  expect(await lively()).toEqual(names.toSorted())
  expect(await lively()).toEqual([])
})

it('looks for none among the memories of a project', async () => {
  const { write, whole, lively } = rig({ harness: 'claude-code' })
  for (const folder of ['a/session', 'a/memory', 'memory/session'])
    write(`${folder}/subagents/agent-1.jsonl`, { age: 'old' })
  expect(await whole()).toEqual(['a/session/subagents/agent-1.jsonl', 'memory/session/subagents/agent-1.jsonl'])
  write('a/memory/subagents/agent-2.jsonl', { age: 'old' })
  expect(await lively()).toEqual([])
})
