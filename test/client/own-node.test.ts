import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeHome } from '../support/home.ts'
import { addOldNode } from '../support/old-node.ts'
import { projectRoot } from '../support/sources.ts'

/** A checkout whose program is `source`, with a Node of its own, and an older Node to start it on. */
function checkout(source: string) {
  const { dir } = makeHome()
  const bin = join(dir, 'node_modules/.bin')
  for (const folder of ['client/cli', 'node_modules/.bin']) mkdirSync(join(dir, folder), { recursive: true })
  const program = join(dir, 'client/cli/memoryd.js')
  copyFileSync(join(projectRoot, 'client/cli/memoryd.js'), program)
  writeFileSync(join(dir, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(dir, 'client/cli/main.ts'), source)
  writeFileSync(join(bin, 'node'), `#!/bin/sh\nexec "${process.execPath}" "$@"\n`, { mode: 0o755 })
  return { program, node: addOldNode(dir), bin }
}

/** Prints each signal that it is sent, and goes on until `done` of them have come. */
const listening = (done: number) => `
  let left = ${done}
  setInterval(() => {}, 60_000)
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'])
    process.on(signal, () => {
      console.log(signal)
      if (--left === 0) process.exit(3)
    })
  console.log('ready')
`

function started({ node, program }: ReturnType<typeof checkout>) {
  const child: ChildProcess = spawn(node, [program], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]()
  const said = async () => (await lines.next()).value as string | undefined
  return { child, said, exited: once(child, 'exit') }
}

describe('a checkout that is started on an older Node', () => {
  it('runs on the Node that it brought along: same arguments, input, output and exit code', () => {
    const { node, program } = checkout(`
      process.stdin.pipe(process.stdout)
      process.stderr.write(JSON.stringify([process.versions.node, ...process.argv.slice(2)]))
      process.exitCode = 7
    `)
    const run = spawnSync(node, [program, 'remember', 'two words'], { input: 'said', encoding: 'utf8' })
    expect({ ...run, stderr: JSON.parse(run.stderr) }).toMatchObject({
      status: 7,
      stdout: 'said',
      stderr: [process.versions.node, 'remember', 'two words'],
    })
  })

  it('passes signals on, and ends as its program does', async () => {
    const { child, said, exited } = started(checkout(listening(3)))
    expect(await said()).toBe('ready')
    for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
      child.kill(signal)
      expect(await said()).toBe(signal)
    }
    expect(await exited).toEqual([3, null])
  })

  it('ends by the signal that ended its program', async () => {
    const { child, said, exited } = started(checkout(`setInterval(() => {}, 60_000)\nconsole.log('ready')`))
    expect(await said()).toBe('ready')
    child.kill('SIGTERM')
    expect(await exited).toEqual([null, 'SIGTERM'])
  })

  it('says which version is needed where it brought none, or one that does not start', () => {
    const { node, program, bin } = checkout('')
    const needs = { status: 5, stderr: 'memoryd needs Node 22.22 or newer; /usr/bin/node is 20.20.2\n' }
    writeFileSync(join(bin, 'node'), '#!/none\n', { mode: 0o755 })
    expect(spawnSync(node, [program], { encoding: 'utf8' })).toMatchObject(needs)
    rmSync(join(bin, 'node'))
    expect(spawnSync(node, [program], { encoding: 'utf8' })).toMatchObject(needs)
  })
})
