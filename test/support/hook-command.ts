/** The hook command as a harness runs it: through a shell, with something on standard input. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const hookScript = fileURLToPath(new URL('../../client/hooks/memoryd-hook.sh', import.meta.url))

export type HookRun = { code: number | null; stdout: string; stderr: string }

type Options = {
  env?: Record<string, string>
  shell?: readonly [string, ...string[]]
  script?: string
  cwd?: string
  /** Whether standard input ends after what was written. */
  ends?: 'never'
  deadline?: 'own'
}

/** A command that does not end by itself is ended with a signal, and its code is null. */
const PATIENCE_MS = 20_000

/** What is answered is the same on a busy machine: only tests of the command's own deadline run with it. */
const PATIENT = { MEMORYD_HOOK_SECONDS: '15' }

export function runHook(harness: string, socket: string, input: unknown, options: Options = {}): Promise<HookRun> {
  const { env = { PATH: process.env.PATH ?? '' }, shell: [program, ...flags] = ['sh'], script = hookScript } = options
  const child = spawn(program, [...flags, script, harness, socket], {
    env: envOf(env, options),
    cwd: options.cwd,
    timeout: PATIENCE_MS,
  })
  return finish(child, input, options)
}

/** As it stands in the settings of a harness. */
export function runCommand(
  command: string,
  input: unknown,
  env: Record<string, string>,
  options: Pick<Options, 'ends' | 'deadline'> = {},
): Promise<HookRun> {
  return finish(spawn('sh', ['-c', command], { env: envOf(env, options), timeout: PATIENCE_MS }), input, options)
}

function envOf(env: Record<string, string>, { deadline }: Pick<Options, 'deadline'>): Record<string, string> {
  return deadline === 'own' ? env : { ...PATIENT, ...env }
}

function finish(
  child: ReturnType<typeof spawn>,
  input: unknown,
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
    child.once('close', (code) => resolve({ code, stdout: Buffer.concat(printed).toString(), stderr }))
  })
}
