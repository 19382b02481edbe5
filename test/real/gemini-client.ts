/** The real Gemini CLI: installed into a folder of its own, run in a temporary HOME against a scripted model. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Home } from '../support/home.ts'
import { type Installed, install } from './install.ts'
import { run } from './run.ts'

export function installGemini(): Promise<Installed> {
  return install({ name: '@google/gemini-cli', version: '0.61.0', program: /^gemini-cli\/bundle\/gemini\.js$/ })
}

export function configureGemini(home: Home): void {
  mkdirSync(join(home.dir, '.gemini'))
  const security = { auth: { selectedType: 'gemini-api-key' } }
  const settings = { security, privacy: { usageStatisticsEnabled: false }, general: { disableAutoUpdate: true } }
  writeFileSync(join(home.dir, '.gemini', 'settings.json'), JSON.stringify(settings))
}

export async function runGemini(
  program: string,
  home: Home,
  { cwd, prompt, url }: { cwd: string; prompt: string; url: string },
): Promise<void> {
  await run(home, {
    program: process.execPath,
    args: [program, '--skip-trust', '-y', '-m', 'gemini-2.5-flash', '-p', prompt],
    cwd,
    env: { GEMINI_API_KEY: 'test', GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_NO_RELAUNCH: 'true' },
  })
}
