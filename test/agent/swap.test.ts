import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'

import { createPlaces } from '../../daemon/agent/permissions.ts'
import { createDisk } from '../../daemon/agent/working-copy.ts'
import { bestReach } from '../../daemon/platform/safe-folder.ts'
import { agentGround, SENTINEL } from './rig.ts'

/** Puts a link where the folder was, and the folder back, as fast as it can. Ends by itself should the test not end it. */
const SWAPPER = `
const { renameSync } = require('fs')
const [path, link, parked] = process.argv.slice(1)
process.send('swapping')
for (const end = performance.now() + 30_000; performance.now() < end; ) {
  renameSync(path, parked)
  renameSync(link, path)
  renameSync(path, link)
  renameSync(parked, path)
}`

async function swap(...paths: string[]): Promise<void> {
  const child = spawn(process.execPath, ['-e', SWAPPER, ...paths], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  await once(child, 'message')
}

/** Inside and outside hold the same names, and only the words tell them apart. */
async function twoFolders() {
  const ground = await agentGround()
  const { project, outside, home } = ground
  for (const [dir, words] of [
    [join(project, 'd'), 'inside'],
    [outside, SENTINEL],
  ] as const) {
    mkdirSync(join(dir, 'e'), { recursive: true })
    for (const file of ['x.md', 'e/y.md']) writeFileSync(join(dir, file), `${words}\n`)
    writeFileSync(join(dir, `${words}.md`), words)
  }
  symlinkSync(outside, join(home, 'link'))
  return { ...ground, paths: [join(project, 'd'), join(home, 'link'), join(home, 'parked')] }
}

const best = bestReach(process.platform)

describe.skipIf(best === 'path')('while a folder is swapped for a link and back', () => {
  it('no tool shows anything from outside', async () => {
    const { tools, project, paths } = await twoFolders()
    await swap(...paths)
    const calls: [string, unknown][] = [
      ['Read', { file_path: `${project}/d/x.md` }],
      ['Read', { file_path: `${project}/d/e/y.md` }],
      ['Bash', { command: `cat ${project}/d/x.md` }],
      ['Bash', { command: `ls ${project}/d` }],
      ['Bash', { command: `find ${project}/d` }],
      ['Glob', { pattern: '**', path: `${project}/d` }],
    ]
    const seen = { inside: 0, outside: 0 }
    for (const end = performance.now() + 4_000; performance.now() < end; )
      for (const [name, input] of calls) {
        const { content } = await tools().run(name, input)
        if (content.includes('inside')) seen.inside++
        if (content.includes(SENTINEL)) seen.outside++
      }
    expect(seen).toEqual({ inside: expect.toSatisfy((count: number) => count > 20), outside: 0 })
  })
})

describe.each([...new Set([best, 'path' as const])])('by %s', (reach) => {
  it('a folder on the way that has become a link is not entered, nor a file that is one', async () => {
    const { reach: roots, project, outside } = await twoFolders()
    symlinkSync(outside, join(project, 'link'))
    symlinkSync(join(outside, 'x.md'), join(project, 'link.md'))
    const places = createPlaces(roots)
    const top = places.locate(project)
    if ('denied' in top) throw new Error(top.denied)
    const at = (within: string) => {
      const place = places.below(top, within)
      if ('denied' in place) throw new Error(place.denied)
      return place
    }
    const disk = createDisk(reach)
    const replaced = { denied: expect.stringContaining('was replaced while it was being read') }
    expect(disk.readFile(at('d/e/y.md'), 100)).toMatchObject({ bytes: Buffer.from('inside\n') })
    expect(disk.list(at('d/e'), 10)).toEqual([{ name: 'y.md', kind: 'file' }])
    expect(disk.readFile(at('link/x.md'), 100)).toEqual(replaced)
    expect(disk.readFile(at('link.md'), 100)).toEqual({ denied: expect.stringContaining('is a link') })
    expect(disk.list(at('link'), 10)).toEqual(replaced)
    expect(disk.list(at('link/e'), 10)).toEqual(replaced)
    expect(disk.facts(at('link/x.md'))).toEqual(replaced)
    expect(disk.facts(at('link.md'))).toMatchObject({ kind: 'other' })
    expect(disk.readFile(at('d/x.md/z'), 100)).toEqual({ failed: expect.stringContaining('there is no') })
  })
})
