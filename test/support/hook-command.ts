/** The hook command as a harness runs it: through a shell, with something on standard input. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const hookScript = fileURLToPath(new URL('../../client/hooks/memoryd-hook.sh', import.meta.url))

export type HookRun = { code: number | null; stdout: string; stderr: string; tookMs: number }

type Options = {
  env?: Record<string, string>
  shell?: readonly [string, ...string[]]
  script?: string
  cwd?: string
  /** Whether standard input ends after what was written. */
  ends?: 'never'
}

/** Whoever waits longer waits for ever. */
const PATIENCE_MS = 20_000

export function runHook(harness: string, socket: string, input: unknown, options: Options = {}): Promise<HookRun> {
  const { env = { PATH: process.env.PATH ?? '' }, shell: [program, ...flags] = ['sh'], script = hookScript } = options
  const begun = performance.now()
  const child = spawn(program, [...flags, script, harness, socket], { env, cwd: options.cwd, timeout: PATIENCE_MS })
  return finish(child, input, begun, options)
}

/** For what says the same every time: on a machine that is too busy it rightly says nothing, and is asked again. */
export async function untilTold(ask: () => Promise<HookRun>): Promise<HookRun> {
  for (let tries = 1; ; tries++) {
    const run = await ask()
    if (run.stdout !== '' || tries === 20) return run
  }
}

/** As it stands in the settings of a harness. */
export function runCommand(
  command: string,
  input: unknown,
  env: Record<string, string>,
  options: Pick<Options, 'ends'> = {},
): Promise<HookRun> {
  const begun = performance.now()
  return finish(spawn('sh', ['-c', command], { env, timeout: PATIENCE_MS }), input, begun, options)
}

function finish(
  child: ReturnType<typeof spawn>,
  input: unknown,
  begun: number,
  { ends }: Pick<Options, 'ends'> = {},
): Promise<HookRun> {
  const printed: Buffer[] = []
  let stderr = ''
  child.stdout?.on('data', (chunk: Buffer) => void printed.push(chunk))
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  child.stdin?.on('error', () => {})
  child.stdin?.write(typeof input === 'string' ? input : JSON.stringify(input))
  if (ends !== 'never') child.stdin?.end()
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', () => child.stdin?.destroy())
    child.once('close', (code) =>
      resolve({ code, stdout: Buffer.concat(printed).toString(), stderr, tookMs: performance.now() - begun }),
    )
  })
}
