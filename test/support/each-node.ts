/** `npm run test:nodes`: the core of the suite on every Node that is supported, each installed from the npm registry for this run. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { projectRoot } from './sources.ts'

const MAJORS = ['22', '24', '26']

/** Start, write, kill, recall, threads and stop: files whose names begin with one of these. */
const CORE = [
  ...['core', 'platform/', 'db/', 'jobs/', 'memory/', 'recall/', 'transcripts/'],
  ...['flows/activation', 'flows/hooks', 'flows/jobs', 'flows/job-drain', 'flows/lifecycle', 'flows/memories'],
  ...['flows/older-state', 'flows/recall', 'flows/search', 'flows/transcripts', 'flows/mcp', 'flows/without-index'],
  ...['faults/kill', 'faults/memory-kill', 'faults/damaged-index', 'faults/corruption'],
]

function runOn(major: string): boolean {
  const folder = mkdtempSync(join(tmpdir(), `node-${major}-`))
  try {
    writeFileSync(join(folder, 'package.json'), '{ "private": true }')
    const name = `node-${process.platform}-${process.arch}`
    execFileSync('npm', ['install', '--silent', '--no-audit', '--no-fund', `${name}@${major}`], { cwd: folder })
    const bin = join(folder, 'node_modules', name, 'bin')
    const node = join(bin, 'node')
    const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()
    process.stdout.write(`\n== Node ${version}\n`)
    const vitest = join(projectRoot, 'node_modules/vitest/vitest.mjs')
    const args = [vitest, 'run', '--config', 'test/vitest.config.ts', '--reporter=dot', ...CORE]
    const env = { ...process.env, PATH: [bin, process.env.PATH].join(delimiter) }
    const { status } = spawnSync(node, args, { cwd: projectRoot, env, stdio: 'inherit' })
    process.stdout.write(`== Node ${version}: ${status === 0 ? 'passed' : 'FAILED'}\n`)
    return status === 0
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const failed = MAJORS.filter((major) => !runOn(major))
process.exitCode = failed.length === 0 ? 0 : 1
