import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createAnswers } from '../../daemon/memory/answers.ts'
import { createVigils } from '../../daemon/platform/vigil.ts'
import { manualTime } from '../support/clock.ts'
import { makeHome } from '../support/home.ts'
import { memoryRig, person, topic } from '../support/memory.ts'

function makeAnswers() {
  const { dir } = makeHome()
  const time = manualTime()
  const vigils = createVigils({ clock: time.clock })
  onTestFinished(() => vigils.stop())
  const answers = createAnswers({ vigils, clock: time.clock })
  let made = 0
  const ask = () => answers.answer('key', () => ({ answer: { made: ++made }, from: [{ folder: dir }] }))
  return { dir, time, answers, ask }
}

describe('an answer', () => {
  it('is kept from the second time on, until something stirs where it came from', async () => {
    const { dir, ask } = makeAnswers()
    expect([await ask(), await ask(), await ask(), await ask()]).toEqual([
      { made: 1 },
      { made: 2 },
      { made: 2 },
      { made: 2 },
    ])
    writeFileSync(join(dir, 'a.md'), 'x')
    expect(await ask()).toEqual({ made: 3 })
    expect(await ask()).toEqual({ made: 3 })
  })

  it('is looked for again after a second, and when told so', async () => {
    const { time, answers, ask } = makeAnswers()
    for (let n = 0; n < 3; n++) await ask()
    time.pass(1_000)
    expect(await ask()).toEqual({ made: 3 })
    answers.forgetAll()
    expect(await ask()).toEqual({ made: 4 })
  })

  it('that cannot be made is not kept, and asked for anew', async () => {
    const { answers } = makeAnswers()
    let times = 0
    const ask = () =>
      answers.answer('other', () => {
        if (times++ === 1) throw new Error('gone')
        return { answer: { times }, from: [] }
      })
    expect(await ask()).toEqual({ times: 1 })
    await expect(ask()).rejects.toThrow('gone')
    expect(await ask()).toEqual({ times: 3 })
  })

  it('about memories never shows what was there before a change, however often it is asked', async () => {
    const rig = memoryRig()
    const { reading } = rig.memory
    mkdirSync(rig.dir, { recursive: true })
    const index = async () => (await reading.index(rig.cwd, person)).content
    const files = async () =>
      (await reading.list(rig.cwd, person, { type: undefined, q: undefined })).items.map(({ file, name }) => [
        file,
        name,
      ])
    for (let round = 0; round < 20; round++) {
      writeFileSync(join(rig.dir, 'MEMORY.md'), `- [A](a.md) — round ${round}\n`)
      expect([await index(), await index()]).toEqual(Array(2).fill(`- [A](a.md) — round ${round}\n`))
      appendFileSync(join(rig.dir, 'MEMORY.md'), 'x')
      expect(await index()).toContain(`round ${round}\nx`)
      writeFileSync(join(rig.dir, 'a.md'), topic('x', `N${round}`))
      expect([await files(), await files()]).toEqual(Array(2).fill([['a.md', `N${round}`]]))
      mkdirSync(join(rig.dir, 'deep'), { recursive: true })
      renameSync(join(rig.dir, 'a.md'), join(rig.dir, 'deep/b.md'))
      expect([await files(), await files()]).toEqual(Array(2).fill([['deep/b.md', `N${round}`]]))
      writeFileSync(join(rig.dir, 'deep/b.md'), topic('y', `M${round}`))
      expect(await files()).toEqual([['deep/b.md', `M${round}`]])
      rmSync(join(rig.dir, 'deep'), { recursive: true })
      expect(await files()).toEqual([])
    }
  })
})
