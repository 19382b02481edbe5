import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { makeHome } from '../support/home.ts'
import { projectRoot } from '../support/sources.ts'

type Coverage = { result: { url: string; functions: { functionName: string; ranges: { count: number }[] }[] }[] }

/** What the reading thread ran from its start to its end. */
function ranInThread(folder: string): string[] {
  const reports = readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Coverage)
  const ofThread = reports.find(({ result }) => !result.some(({ url }) => url.endsWith('walk-program.ts')))
  return (ofThread?.result ?? [])
    .filter(({ url }) => /\/(daemon|schema)\/.*\.ts$/.test(url))
    .filter(({ functions }) =>
      functions.some(({ functionName, ranges }) => functionName && (ranges[0]?.count ?? 0) > 0),
    )
    .map(({ url }) => url.slice(url.search(/(daemon|schema)\//)))
}

/** A reader who follows one request should be able to. The numbers may only fall. */
it('walks through few files to save a memory, and fewer to recall one for a hook', { timeout: 120_000 }, () => {
  const { dir, env } = makeHome()
  const coverage = join(dir, 'coverage')
  const program = join(projectRoot, 'test/support/walk-program.ts')
  const printed = execFileSync(process.execPath, [program, join(dir, 'home')], {
    env: { ...env, NODE_V8_COVERAGE: coverage } as NodeJS.ProcessEnv,
    encoding: 'utf8',
  })
  const { save, hook } = JSON.parse(printed) as { save: string[]; hook: string[] }
  const thread = ranInThread(coverage)
  expect(thread).toContain('daemon/transcripts/reader-worker.ts')
  expect(hook).toContain('daemon/recall/recall.ts')
  expect(new Set([...save, ...thread]).size).toBeLessThanOrEqual(96)
  expect(hook.length).toBeLessThanOrEqual(68)
})
