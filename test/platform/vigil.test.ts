import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createVigils, type Vigils } from '../../daemon/platform/vigil.ts'
import { manualTime } from '../support/clock.ts'
import { makeHome } from '../support/home.ts'

function makeVigils(options: { watchFolder?: typeof watch; platform?: NodeJS.Platform } = {}) {
  const { dir } = makeHome()
  const time = manualTime()
  const vigils: Vigils = createVigils({ clock: time.clock, ...options })
  onTestFinished(() => vigils.stop())
  // Twice: what a test itself did just now is told in the round after this one.
  const told = () => vigils.settled().then(vigils.settled)
  return { dir, time, vigils, told }
}

describe('a vigil', () => {
  it.each<[string, (dir: string) => void]>([
    ['a file is made', (dir) => writeFileSync(join(dir, 'new.md'), 'x')],
    ['a file is written in place', (dir) => writeFileSync(join(dir, 'a.md'), 'other')],
    ['a file is touched', (dir) => utimesSync(join(dir, 'a.md'), 1, 1)],
    ['a file is replaced', (dir) => renameSync(join(dir, 'b.md'), join(dir, 'a.md'))],
    ['a file is removed', (dir) => rmSync(join(dir, 'a.md'))],
    ['the folder is removed', (dir) => rmSync(dir, { recursive: true })],
    ['the folder is moved away', (dir) => renameSync(dir, `${dir}-old`)],
  ])('of a folder ends when %s, before anyone can ask', async (_what, stir) => {
    const { dir, vigils, told } = makeVigils()
    const folder = join(dir, 'memory')
    mkdirSync(folder)
    for (const name of ['a.md', 'b.md']) writeFileSync(join(folder, name), name)
    const vigil = vigils.keep([{ folder }])
    await told()
    expect(vigil?.quiet()).toBe(true)
    stir(folder)
    await told()
    expect(vigil?.quiet()).toBe(false)
  })

  it('tells what stirred, once, and goes on; of too much it knows nothing any more', async () => {
    const { dir, vigils, told } = makeVigils()
    const vigil = vigils.keep([{ folder: dir }], { mostPaths: 2 })
    writeFileSync(join(dir, 'a.md'), 'x')
    await told()
    expect(vigil?.quiet()).toBe(false)
    expect(vigil?.stirred()).toEqual([join(dir, 'a.md')])
    expect([vigil?.quiet(), vigil?.stirred()]).toEqual([true, []])
    for (const name of ['b.md', 'c.md', 'd.md']) writeFileSync(join(dir, name), 'x')
    await told()
    expect([vigil?.stirred(), vigil?.quiet()]).toEqual([undefined, false])
  })

  it('of a path does not mind its neighbours', async () => {
    const { dir, vigils, told } = makeVigils()
    const vigil = vigils.keep([{ path: join(dir, 'settings.json') }])
    writeFileSync(join(dir, 'other.json'), '{}')
    await told()
    expect(vigil?.quiet()).toBe(true)
    writeFileSync(join(dir, 'settings.json'), '{}')
    await told()
    expect(vigil?.quiet()).toBe(false)
  })

  it('waits for a path whose folders do not exist yet', async () => {
    const { dir, vigils, told } = makeVigils()
    const vigil = vigils.keep([{ path: join(dir, 'a/b/settings.json') }])
    expect(vigil?.quiet()).toBe(true)
    mkdirSync(join(dir, 'a'))
    await told()
    expect(vigil?.quiet()).toBe(false)
  })

  it('is not kept where a change could go unseen', () => {
    const { dir, vigils } = makeVigils()
    symlinkSync(join(dir, 'elsewhere.json'), join(dir, 'settings.json'))
    expect(vigils.keep([{ path: join(dir, 'settings.json') }])).toBeUndefined()
    expect(makeVigils({ platform: 'darwin' }).vigils.keep([{ folder: dir }])).toBeUndefined()
    const exhausted = makeVigils({
      watchFolder: () => {
        throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })
      },
    })
    expect(exhausted.vigils.keep([{ folder: exhausted.dir }])).toBeUndefined()
  })

  it('that nobody asks about any more ends with the next stir, so that a busy folder does not keep us awake', async () => {
    let open = 0
    const counting = ((path: string) => {
      open += 1
      return watch(path, { persistent: false }).on('close', () => {
        open -= 1
      })
    }) as typeof watch
    const { dir, time, vigils, told } = makeVigils({ watchFolder: counting })
    const vigil = vigils.keep([{ path: join(dir, 'settings.json') }])
    time.pass(11_000)
    writeFileSync(join(dir, 'other.json'), '{}')
    await told()
    expect(vigil?.quiet()).toBe(false)
    await told()
    expect(open).toBe(0)
  })
})
