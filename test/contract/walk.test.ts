import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { makeHome } from '../support/home.ts'
import { projectRoot } from '../support/sources.ts'

/** A reader who follows one request should be able to. The numbers may only fall. */
it('walks through few files to save a memory, and fewer to recall one for a hook', { timeout: 120_000 }, () => {
  const { dir, env } = makeHome()
  const program = join(projectRoot, 'test/support/walk-program.ts')
  const printed = execFileSync(process.execPath, [program, join(dir, 'home')], {
    env: env as NodeJS.ProcessEnv,
    encoding: 'utf8',
  })
  const { save, hook } = JSON.parse(printed) as { save: string[]; hook: string[] }
  expect(save).toContain('daemon/transcripts/reader-worker.ts')
  expect(save).toContain('daemon/memory/writer.ts')
  expect(hook).toContain('daemon/recall/recall.ts')
  expect(save.length).toBeLessThanOrEqual(60)
  expect(hook.length).toBeLessThanOrEqual(40)
})
