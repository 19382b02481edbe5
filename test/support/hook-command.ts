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
}

export function runHook(harness: string, socket: string, input: unknown, options: Options = {}): Promise<HookRun> {
  const { env = { PATH: process.env.PATH ?? '' }, shell: [program, ...flags] = ['sh'], script = hookScript } = options
  const begun = performance.now()
  const child = spawn(program, [...flags, script, harness, socket], { env, cwd: options.cwd })
  return finish(child, input, begun)
}

/** As it stands in the settings of a harness. */
export function runCommand(
  command: string,
  input: unknown,
  env: Record<string, string>,
  cwd?: string,
): Promise<HookRun> {
  const begun = performance.now()
  return finish(spawn('sh', ['-c', command], { env, cwd }), input, begun)
}

function finish(child: ReturnType<typeof spawn>, input: unknown, begun: number): Promise<HookRun> {
  const printed: Buffer[] = []
  let stderr = ''
  child.stdout?.on('data', (chunk: Buffer) => void printed.push(chunk))
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  child.stdin?.on('error', () => {})
  child.stdin?.end(typeof input === 'string' ? input : JSON.stringify(input))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) =>
      resolve({ code, stdout: Buffer.concat(printed).toString(), stderr, tookMs: performance.now() - begun }),
    )
  })
}
