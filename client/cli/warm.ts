/** Build step: runs the bundled daemon once in a home of its own, so that the code V8 compiles is kept for later starts. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findPlaces } from '../../schema/rendezvous.ts'
import { connect } from '../index.ts'
import { daemonMain } from './daemon-process.ts'

const home = mkdtempSync(join(tmpdir(), 'md-'))
const daemon = spawn(process.execPath, [daemonMain], {
  env: { HOME: home, MEMORYD_KEEP_COMPILED: '1' },
  stdio: ['ignore', 'ignore', 'inherit'],
})
const ended = new Promise<number | null>((resolve) => daemon.once('exit', resolve))
const client = connect({ socket: findPlaces({ HOME: home }).socketPath, strict: true })
try {
  while (daemon.exitCode === null && !(await client.health().catch(() => undefined)));
  await client.status()
} finally {
  client.close()
  daemon.kill('SIGTERM')
  await ended
  rmSync(home, { recursive: true, force: true })
}
