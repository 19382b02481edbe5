import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { connect } from '../../client/index.ts'
import { header } from '../support/carry.ts'
import { startDaemon } from '../support/daemon.ts'
import { makeHome } from '../support/home.ts'

const MOST_BYTES = 300_000_000
const change = { kind: 'change', at: header.at, op: 'delete', before: null, after: null, undoable: true, actor: 'user' }
const json = (value: unknown) => `${JSON.stringify(value)}\n`

async function* file(line: (n: number) => string, lines: number) {
  yield Buffer.from(json(header))
  for (let n = 0; n < lines; ) {
    let piece = ''
    for (; n < lines && piece.length < 65_536; n++) piece += line(n)
    yield Buffer.from(piece)
  }
}

/** The most memory the process ever had. */
function peakBytes(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}

it.runIf(process.platform === 'linux').each([
  ['a million lines', (n: number) => json({ ...change, file: `f${n}.md`, reason: 'x', evidence: [], parts: [] }), 1e6],
  ['lines of eight megabytes', () => json({ kind: 'text', key: '0'.repeat(64), text: 'x'.repeat(7_900_000) }), 100],
  ['lines that nest', () => `${'['.repeat(7_000_000)}\n`, 100],
  ['a line without end', () => 'x'.repeat(65_536), 10_000],
])('reads %s in bounded memory and refuses them', async (_what, line, lines) => {
  const home = makeHome()
  const daemon = await startDaemon(home)
  const client = connect({ socket: home.places.socketPath, strict: true, actor: 'user', deadlineMs: 600_000 })
  const cwd = join(home.dir, 'project')
  await expect(client.importMemories({ cwd, lines: file(line, lines) })).rejects.toMatchObject({ code: 'BAD_REQUEST' })
  client.close()
  expect(peakBytes(daemon.pid)).toBeLessThan(MOST_BYTES)
  expect((await daemon.client.health()).ok).toBe(true)
})
