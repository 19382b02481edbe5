/** Before all tests: lays out the package as it is published, which is what tests of processes start. */
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'rolldown'
import type { TestProject } from 'vitest/node'
import config from '../../rolldown.config.ts'
import { projectRoot } from './sources.ts'

declare module 'vitest' {
  interface ProvidedContext {
    packageRoot: string
  }
}

export default async function setup(project: TestProject): Promise<() => void> {
  const caches = join(projectRoot, 'node_modules', '.cache')
  mkdirSync(caches, { recursive: true })
  const root = mkdtempSync(join(caches, 'package-'))
  await build({ ...config, logLevel: 'warn', output: { ...config.output, dir: join(root, 'dist') } })
  // A test looks at this as another user.
  chmodSync(root, 0o755)
  const { files } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as { files: string[] }
  for (const file of ['package.json', ...files.filter((name) => name !== 'dist')]) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    cpSync(join(projectRoot, file), join(root, file), { recursive: true })
  }
  mkdirSync(join(root, 'bin'))
  symlinkSync('../client/cli/memoryd.js', join(root, 'bin', 'memoryd'))
  // For the threads of daemons in the process of a test: to strip the types of their sources takes longer than to run them.
  // Not in the package: a worker of vitest may still write there when it is removed.
  process.env.NODE_COMPILE_CACHE = join(caches, 'compiled')
  project.provide('packageRoot', root)
  return () => rmSync(root, { recursive: true, force: true })
}
