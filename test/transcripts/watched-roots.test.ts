import { mkdirSync, watch as watchFolder } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createClock } from '../../daemon/platform/clock.ts'
import { createWatchedRoots } from '../../daemon/transcripts/watched-roots.ts'
import { makeHome } from '../support/home.ts'

it('watches the sessions of a project, and not the memories beside them', () => {
  const path = join(makeHome().dir, 'projects')
  for (const folder of ['a/session/subagents', 'a/memory/team', 'memory'])
    mkdirSync(join(path, folder), { recursive: true })
  const watched: string[] = []
  const roots = createWatchedRoots({
    clock: createClock(),
    health: { raise: () => {}, clear: () => {} },
    onHint: () => {},
    watch: (folder, options, onEvent) => {
      watched.push(folder.slice(path.length))
      return watchFolder(folder, options, onEvent)
    },
  })
  onTestFinished(roots.stop)
  roots.set([{ harness: 'claude-code', path }])
  expect(watched.sort()).toEqual(['', '/a', '/a/session', '/a/session/subagents', '/memory'])
})
