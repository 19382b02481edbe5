/** The real Codex: installed into a folder of its own, run in a temporary HOME against a scripted model. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Home } from '../support/home.ts'
import { type Installed, install } from './install.ts'
import { run } from './run.ts'

export function installCodex(): Promise<Installed> {
  return install({ name: '@openai/codex', version: '0.166.0', program: /^codex-[^/]+\/vendor\/[^/]+\/bin\/codex$/ })
}

/** `hooks` as its `hooks.json` has them. */
export function configureCodex(home: Home, { url, hooks }: { url: string; hooks: object }): void {
  const folder = join(home.dir, '.codex')
  mkdirSync(folder)
  writeFileSync(join(folder, 'hooks.json'), JSON.stringify({ hooks }))
  writeFileSync(
    join(folder, 'config.toml'),
    `model = "gpt-5.1-codex"
model_provider = "scripted"

[model_providers.scripted]
name = "scripted"
base_url = "${url}"
wire_api = "responses"
`,
  )
}

/** One prompt, in a new session or in one that goes on. Hooks run without the dialog in which a person trusts them. */
export async function runCodex(
  program: string,
  home: Home,
  { cwd, prompt, resume }: { cwd: string; prompt: string; resume?: string },
): Promise<void> {
  const session = resume === undefined ? [] : ['resume', resume]
  await run(home, { program, args: ['exec', '--dangerously-bypass-hook-trust', ...session, prompt], cwd, env: {} })
}
