/** Runs a client to its end, in a temporary HOME and with no network but loopback. */
import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Home } from '../support/home.ts'

const RUN_MS = 90_000
/** No server listens there: what is not for loopback gets no further. */
const NOWHERE = 'http://127.0.0.1:9'

type Run = { program: string; args: readonly string[]; cwd: string; env: Record<string, string> }

export async function run(home: Home, { program, args, cwd, env }: Run): Promise<void> {
  const temporary = join(home.dir, 'tmp')
  mkdirSync(temporary, { recursive: true })
  const child = spawn(program, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: RUN_MS,
    killSignal: 'SIGKILL',
    env: {
      ...home.env,
      HTTP_PROXY: NOWHERE,
      HTTPS_PROXY: NOWHERE,
      NO_PROXY: '127.0.0.1',
      TMPDIR: temporary,
      ...env,
    } as NodeJS.ProcessEnv,
  })
  let said = ''
  for (const output of [child.stdout, child.stderr])
    output.on('data', (chunk) => {
      said += chunk
    })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${said.slice(-2_000)}`)
}
