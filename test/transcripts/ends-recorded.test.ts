import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ingestRig } from './ingest-rig.ts'
import { recordings } from './telling.ts'

const FIXTURES = join(import.meta.dirname, '../fixtures/transcripts')

/** Of each recording how the turn that was read last has ended, when and where: what is told to whoever waits for it. */
const expected: Record<string, string[]> = {
  'claude-code-2.1.325/01-plain': [
    '00000001-0000-4000-8000-000000000001 final 2026-11-15T23:57:40.464Z in /home/dev/proj/demo',
  ],
  'claude-code-2.1.325/02-tools': [
    '00000002-0000-4000-8000-000000000001 final 2026-11-15T23:57:44.561Z in /home/dev/proj/demo',
  ],
  'claude-code-2.1.325/03-parallel': [
    '00000003-0000-4000-8000-000000000001 final 2026-11-15T23:57:48.055Z in /home/dev/proj/demo',
  ],
  'claude-code-2.1.325/06-compact-manual': [
    '00000006-0000-4000-8000-000000000001 final 2026-11-15T23:58:07.381Z in /home/dev/proj/demo',
  ],
  'claude-code-2.1.325/08-subagent-background': [
    '00000008-0000-4000-8000-000000000001 final 2026-11-15T23:58:15.369Z in /home/dev/proj/demo',
  ],
  'claude-code-2.1.325/09-subagent-foreground': [
    '00000009-0000-4000-8000-000000000001 final 2026-11-15T23:58:18.534Z in /home/dev/proj/demo',
  ],
  'claude-code-2.1.325/10-unicode': [
    '00000010-0000-4000-8000-000000000001 final 2026-11-15T23:58:20.885Z in /home/dev/proj/demo',
  ],
  'claude-code-2.1.325/12-big-output': [
    '00000012-0000-4000-8000-000000000001 final 2026-11-15T23:58:30.281Z in /home/dev/proj/demo',
    '00000012-0000-4000-8000-000000000002 final 2026-11-15T23:58:31.046Z in /home/dev/proj/demo',
  ],
  'claude-code-2.1.325/15-other-cwd-and-worktree': [
    '00000015-0000-4000-8000-000000000002 final 2026-11-15T23:58:57.386Z in /home/dev/proj/demo/.claude/worktrees/probe-wt',
    '00000015-0000-4000-8000-000000000001 final 2026-11-15T23:58:56.347Z in /home/dev/proj/demo/sub',
    '00000015-0000-4000-8000-000000000003 final 2026-11-15T23:58:58.663Z in /home/dev/proj/demo/sub',
  ],
  'claude-code-2.1.325/17-model-4.5': [
    '00000017-0000-4000-8000-000000000001 final 2026-11-15T23:59:04.055Z in /home/dev/proj/demo',
  ],
  'claude-code-2.1.325/18-automemory': [
    '00000018-0000-4000-8000-000000000001 final 2026-11-15T23:59:06.970Z in /home/dev/proj/demo',
    '00000018-0000-4000-8000-000000000002 final 2026-11-15T23:59:07.991Z in /home/dev/proj/demo',
    '00000018-0000-4000-8000-000000000003 final 2026-11-15T23:59:08.855Z in /home/dev/proj/demo',
    '00000018-0000-4000-8000-000000000004 final 2026-11-15T23:59:09.784Z in /home/dev/proj/demo',
  ],
  'claude-code-2.1.325/19-stop-hook-block': [
    '00000019-0000-4000-8000-000000000001 final 2026-11-15T23:59:12.452Z in /home/dev/proj/demo',
    '00000019-0000-4000-8000-000000000002 final 2026-11-15T23:59:13.606Z in /home/dev/proj/demo',
  ],
  'claude-code-older/1.0.128': [
    '0000000a-0000-4000-8000-000000000001 final 2026-11-16T00:04:20.900Z in /home/dev/proj/demo',
  ],
  'claude-code-older/2.0.77': [
    '0000000a-0000-4000-8000-000000000001 final 2026-11-16T00:04:48.663Z in /home/dev/proj/demo',
  ],
  'codex-0.166.0/01-plain': [
    '01a1e1a9-708a-7730-903b-653604b0d5ea final 2026-11-16T00:02:20.651Z in /home/dev/proj/demo',
  ],
  'codex-0.166.0/02-tools-hooks': [
    '01a1e1a9-79fe-7373-ab22-17d3788f74da final 2026-11-16T00:02:25.950Z in /home/dev/proj/demo',
  ],
  'codex-0.166.0/04-resume-fork': [
    '01a1e1a9-910b-7563-9f2d-1ed4cf19e992 final 2026-11-16T00:02:32.433Z in /home/dev/proj/demo',
    '01a1e1a9-a02e-7f42-becb-8edabb2565a7 final 2026-11-16T00:02:34.495Z in /home/dev/proj/demo',
  ],
  'codex-0.166.0/06-subagent': [
    '01a1e1a9-b9ce-7163-a781-d563a8047d00 final 2026-11-16T00:02:44.522Z in /home/dev/proj/demo',
  ],
  'codex-0.166.0/07-unicode': [
    '01a1e1a9-d42a-7931-96d7-93829d26cc1f final 2026-11-16T00:02:47.969Z in /home/dev/proj/demo',
  ],
  'gemini-cli-0.61.0/01-hooks-resume': [
    '973b8a0a-03d8-4f1a-a4e0-657cb4d97448 settling 2026-11-16T00:03:59.466Z in /home/dev/proj/demo',
  ],
  'pi/01-tree': ['7d0c1f52-8a41-4f0e-9f0f-5b1f6f2f0a01 final 2026-11-16T00:12:04.000Z in /home/dev/proj/demo'],
}

async function endsIn(client: string, scenario: string): Promise<string[]> {
  const rig = ingestRig()
  cpSync(join(FIXTURES, client, scenario), rig.root, { recursive: true })
  const ends: string[] = []
  for (const { harness, path } of recordings().filter((one) => one.client === client && one.scenario === scenario)) {
    const progress = await rig.read(harness, path)
    if (!('ended' in progress) || !progress.ended) continue
    const { sessionId, end, at = 0, cwd, project, harness: by, ...rest } = progress.ended
    expect([by, project, rest]).toEqual([harness, `project of ${cwd}`, {}])
    ends.push(`${sessionId} ${end} ${new Date(at).toISOString()} in ${cwd}`)
  }
  return ends
}

const scenarios = [...new Set(recordings().map(({ client, scenario }) => `${client}/${scenario}`))]

it('expects the end of every recording', () => {
  expect(Object.keys(expected).sort()).toEqual(scenarios.toSorted())
})

it.each(scenarios)('tells of the end of the last turn in %s, and of no sub-agent', async (name) => {
  const [client = '', scenario = ''] = name.split('/')
  expect(await endsIn(client, scenario)).toEqual(expected[name])
})
