import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ingestRig } from './ingest-rig.ts'
import { recordings } from './telling.ts'

const FIXTURES = join(import.meta.dirname, '../fixtures/transcripts')

/** Each session: where it began, its prompts and tokens, and how many messages of whom are known; copies in brackets. */
const expected: Record<string, string[]> = {
  'claude-code-2.1.325/01-plain': [
    '00000001-0000-4000-8000-000000000001 in /home/dev/proj/demo: 1 turns, 11732 tokens: agent 1 person 1',
  ],
  'claude-code-2.1.325/02-tools': [
    '00000002-0000-4000-8000-000000000001 in /home/dev/proj/demo: 1 turns, 61039 tokens: agent 6 person 1 tool 4',
  ],
  'claude-code-2.1.325/03-parallel': [
    '00000003-0000-4000-8000-000000000001 in /home/dev/proj/demo: 1 turns, 24109 tokens: agent 4 person 1 tool 3',
  ],
  'claude-code-2.1.325/06-compact-manual': [
    '00000006-0000-4000-8000-000000000001 in /home/dev/proj/demo: 3 turns, 48174 tokens: agent 4 injected 1 person 3 tool 1',
  ],
  'claude-code-2.1.325/08-subagent-background': [
    '00000008-0000-4000-8000-000000000001 in /home/dev/proj/demo: 2 turns, 51715 tokens: agent 3 injected 1 person 1 tool 1 agent of a77296ccd713fa352 3 tool of a77296ccd713fa352 1',
  ],
  'claude-code-2.1.325/09-subagent-foreground': [
    '00000009-0000-4000-8000-000000000001 in /home/dev/proj/demo: 1 turns, 32052 tokens: agent 2 person 1 tool 1 agent of a60f9067ba87355a6 2',
  ],
  'claude-code-2.1.325/10-unicode': [
    '00000010-0000-4000-8000-000000000001 in /home/dev/proj/demo: 1 turns, 36077 tokens: agent 3 person 1 tool 2',
  ],
  'claude-code-2.1.325/12-big-output': [
    '00000012-0000-4000-8000-000000000001 in /home/dev/proj/demo: 1 turns, 24463 tokens: agent 2 person 1 tool 1',
    '00000012-0000-4000-8000-000000000002 in /home/dev/proj/demo: 1 turns, 39711 tokens: agent 1 person 1',
  ],
  'claude-code-2.1.325/15-other-cwd-and-worktree': [
    '00000015-0000-4000-8000-000000000001 in /home/dev/proj/demo: 3 turns, 35803 tokens: agent 3 person 3',
    '00000015-0000-4000-8000-000000000002 in /home/dev/proj/demo/.claude/worktrees/probe-wt: 1 turns, 24144 tokens: agent 2 person 1 tool 1',
    '00000015-0000-4000-8000-000000000003 in /home/dev/proj/demo: 1 turns, 35981 tokens: agent 3 person 1 tool 2',
  ],
  'claude-code-2.1.325/17-model-4.5': [
    '00000017-0000-4000-8000-000000000001 in /home/dev/proj/demo: 1 turns, 43001 tokens: agent 2 person 1 tool 1',
  ],
  'claude-code-2.1.325/18-automemory': [
    '00000018-0000-4000-8000-000000000001 in /home/dev/proj/demo: 1 turns, 36354 tokens: agent 3 person 1 tool 2',
    '00000018-0000-4000-8000-000000000002 in /home/dev/proj/demo: 1 turns, 11907 tokens: agent 1 person 1',
    '00000018-0000-4000-8000-000000000003 in /home/dev/proj/demo: 1 turns, 11259 tokens: agent 1 person 1',
    '00000018-0000-4000-8000-000000000004 in /home/dev/proj/demo: 1 turns, 11261 tokens: agent 1 person 1',
  ],
  'claude-code-2.1.325/19-stop-hook-block': [
    '00000019-0000-4000-8000-000000000001 in /home/dev/proj/demo: 1 turns, 23544 tokens: agent 2 person 1',
    '00000019-0000-4000-8000-000000000002 in /home/dev/proj/demo: 1 turns, 23515 tokens: agent 2 person 1',
  ],
  'claude-code-older/1.0.128': [
    '0000000a-0000-4000-8000-000000000001 in /home/dev/proj/demo: 4 turns, 104121 tokens: agent 7 injected 1 person 4 tool 2 agent of sidechain 2',
  ],
  'claude-code-older/2.0.77': [
    '0000000a-0000-4000-8000-000000000001 in /home/dev/proj/demo: 4 turns, 143787 tokens: agent 7 injected 1 person 4 tool 2 agent of a3f8cb9 2 agent of a69724c 2 agent of ac26929 2 agent of addc754 2',
    '1ce332cd-1e41-471f-b787-4f2ebb32aea9 in /home/dev/proj/demo: 0 turns, 23948 tokens: agent of a2760ad 2 agent of a2e27e3 2 agent of ad65422 2',
    'b1076679-0350-4706-9798-f5d43527b59f in /home/dev/proj/demo: 0 turns, 23948 tokens: agent of a09762b 2 agent of a5a8701 2 agent of abd18d7 2',
    'd9730112-5951-4c71-b795-5969ee7130b9 in /home/dev/proj/demo: 0 turns, 23948 tokens: agent of a5d14f8 2 agent of ad9fa91 2 agent of ae4b150 2',
    'fd508c0d-378e-4d62-bd71-42b91818101c in /home/dev/proj/demo: 0 turns, 23948 tokens: agent of a0a7852 2 agent of a674677 2 agent of a790248 2',
  ],
  'codex-0.166.0/01-plain': [
    '01a1e1a9-708a-7730-903b-653604b0d5ea in /home/dev/proj/demo: 1 turns, 9878 tokens: agent 1 person 1 system 2',
  ],
  'codex-0.166.0/02-tools-hooks': [
    '01a1e1a9-79fe-7373-ab22-17d3788f74da in /home/dev/proj/demo: 1 turns, 30752 tokens: agent 3 person 1 system 4 tool 2',
  ],
  'codex-0.166.0/04-resume-fork': [
    '01a1e1a9-910b-7563-9f2d-1ed4cf19e992 in /home/dev/proj/demo: 2 turns, 20160 tokens: agent 2 person 2 system 4',
    '01a1e1a9-a02e-7f42-becb-8edabb2565a7 from 01a1e1a9-910b-7563-9f2d-1ed4cf19e992 in /home/dev/proj/demo: 1 turns, 10389 tokens: agent 1 person 1 system 2',
  ],
  'codex-0.166.0/06-subagent': [
    '01a1e1a9-b9ce-7163-a781-d563a8047d00 in /home/dev/proj/demo: 1 turns, 46182 tokens: agent 3 injected 1 person 1 system 4 tool 2 agent of 01a1e1a9-bb2d-7482-9ae1-00bae420d780 3 system of 01a1e1a9-bb2d-7482-9ae1-00bae420d780 3 tool of 01a1e1a9-bb2d-7482-9ae1-00bae420d780 1',
  ],
  'codex-0.166.0/07-unicode': [
    '01a1e1a9-d42a-7931-96d7-93829d26cc1f in /home/dev/proj/demo: 1 turns, 20217 tokens: agent 2 person 1 system 3 tool 1',
  ],
  'gemini-cli-0.61.0/01-hooks-resume': [
    '973b8a0a-03d8-4f1a-a4e0-657cb4d97448 in /home/dev/proj/demo: 2 turns, 315 tokens: agent 3 person 2 tool 1',
  ],
  'pi/01-tree': [
    '7d0c1f52-8a41-4f0e-9f0f-5b1f6f2f0a01 in /home/dev/proj/demo: 2 turns, 2511 tokens: agent 4 person 3 tool 1',
    '7d0c1f52-8a41-4f0e-9f0f-5b1f6f2f0a02 from 7d0c1f52-8a41-4f0e-9f0f-5b1f6f2f0a01 in /home/dev/proj/demo: 1 turns, 49 tokens: agent 1 person 1',
  ],
}

async function ingested(client: string, scenario: string): Promise<string[]> {
  const rig = await ingestRig()
  cpSync(join(FIXTURES, client, scenario), rig.root, { recursive: true })
  for (const { harness, path } of recordings().filter((one) => one.client === client && one.scenario === scenario))
    await rig.read(harness, path)
  const names = rig.column('SELECT session FROM sessions ORDER BY session') as string[]
  return Promise.all(
    names.map(async (name) => {
      const { cwd, project, turns, tokens, parentId: forkOf } = await rig.sessions.get(name, undefined)
      expect(project).toBe(cwd)
      const said = rig.column(
        `SELECT group_concat(said, ' ') FROM (SELECT said_by || iif(sub_agent = '', '', ' of ' || sub_agent) || ' ' || count(*)
           || iif(sum(copied) > 0, ' (' || sum(copied) || ')', '') AS said FROM messages WHERE session = (SELECT id FROM sessions WHERE session = '${name}')
           GROUP BY said_by, sub_agent ORDER BY sub_agent, said_by)`,
      )
      return `${name}${forkOf ? ` from ${forkOf}` : ''} in ${cwd}: ${turns} turns, ${tokens} tokens: ${said[0]}`
    }),
  )
}

const scenarios = [...new Set(recordings().map(({ client, scenario }) => `${client}/${scenario}`))]

it('expects something of every recording', () => {
  expect(Object.keys(expected).sort()).toEqual(scenarios.sort())
})

describe('a recording', () => {
  it.each(scenarios)('of %s gives these sessions', async (name) => {
    const [client = '', scenario = ''] = name.split('/')
    expect(await ingested(client, scenario)).toEqual(expected[name])
  })
})
