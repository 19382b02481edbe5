/** The hook as a harness runs it: a shell, the command, the answer of the daemon with the memories that fit a prompt. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hookCommand } from '../../client/cli/connect/connect.ts'
import { routeTable } from '../../schema/route-table.ts'
import { makeMemories } from './made-memories.ts'
import { inRounds, quantile, ratio } from './rounds.ts'
import type { Row } from './row.ts'

const ROUNDS = { full: 40, quick: 10 }
const RUNS_PER_BLOCK = 10
/** What `times` of a shell counts is a hundredth of a second. */
const RUNS_FOR_CPU = { full: 200, quick: 50 }

export const hook: Row<'p50' | 'cpu' | 'hung'> = {
  name: 'hook',
  what: 'the whole hook command, with a prompt, of 200 memories',
  yardstick: 'curl --unix-socket to a bare server',
  goals: {
    p50: { unit: '×', atMost: 1.5 },
    cpu: { unit: 'µs', atMost: 20_000 },
    hung: { unit: 'µs', atMost: 500_000 },
  },

  run: async (bench) => {
    const home = bench.home()
    const cwd = join(home.dir, 'project')
    makeMemories(home, cwd, 200)
    const [daemon, bare] = [await bench.daemon(home), await bench.bareServer(home)]
    const input = join(home.dir, 'input.json')
    const at = { hook_event_name: 'UserPromptSubmit', session_id: 'bench', cwd, transcript_path: `${cwd}/t.jsonl` }
    writeFileSync(input, JSON.stringify({ ...at, prompt: 'how do we deploy the staging database' }))
    const ours = `sh -c "$COMMAND" < '${input}' > /dev/null`
    const theirs = `curl -s --unix-socket '${bare.socketPath}' http://memoryd${routeTable.health.url} > /dev/null`
    const command = hookCommand('claude-code', daemon.socketPath)
    const once = (script: string) => shell(script, command)
    const block = (script: string) => async () => {
      const taken: number[] = []
      for (let n = 0; n < RUNS_PER_BLOCK; n++) {
        const begun = performance.now()
        await once(script)
        taken.push(performance.now() - begun)
      }
      return taken
    }
    const taken = await inRounds(ROUNDS[bench.pace], { ours: block(ours), theirs: block(theirs) })
    const runs = RUNS_FOR_CPU[bench.pace]
    const said = await once(`n=0; while [ $n -lt ${runs} ]; do ${ours}; n=$((n + 1)); done; times`)
    process.kill(daemon.pid, 'SIGSTOP')
    const hung = Math.max(...(await block(ours)()))
    process.kill(daemon.pid, 'SIGCONT')
    return {
      figures: {
        p50: ratio(taken.ours, taken.theirs, 0.5),
        cpu: { value: (1_000 * cpuMs(said)) / runs },
        hung: { value: 1_000 * hung },
      },
      details: {
        hookP50Ms: quantile(taken.ours.flat(), 0.5),
        hookP99Ms: quantile(taken.ours.flat(), 0.99),
        curlP50Ms: quantile(taken.theirs.flat(), 0.5),
      },
    }
  },
}

function shell(script: string, command: string): Promise<string> {
  const child = spawn('sh', ['-c', script], {
    env: { PATH: process.env.PATH, COMMAND: command },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.on('data', (chunk) => {
    said += chunk
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', () => resolve(said))
  })
}

/** The second line of `times` is what children had: user, then system. */
function cpuMs(times: string): number {
  const parts = [...(times.trim().split('\n')[1] ?? '').matchAll(/(\d+)m([\d.]+)s/g)]
  if (parts.length !== 2) throw new Error(`times said ${JSON.stringify(times)}`)
  return parts.reduce((sum, [, minutes, seconds]) => sum + 60_000 * Number(minutes) + 1_000 * Number(seconds), 0)
}
