import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openDatabases } from '../../daemon/db/databases.ts'
import { createPauses } from '../../daemon/projects/pause-table.ts'
import { findProjectRoot } from '../../daemon/projects/project-root.ts'
import { createSwitches } from '../../daemon/projects/switches.ts'
import { manualTime } from '../support/clock.ts'
import { makeHome } from '../support/home.ts'

function makeSwitches(privatePaths: string[] = []) {
  const { dir } = makeHome()
  const store = openDatabases(join(dir, 'state'), 0)
  return {
    dir,
    switches: createSwitches({
      pauses: createPauses(store.history),
      clock: manualTime().clock,
      rootOf: (cwd) => findProjectRoot(cwd).root,
      privatePaths: () => privatePaths,
      onChange: () => {},
    }),
  }
}

describe('switches', () => {
  it('know a folder by one name, whichever way it was given', () => {
    const { dir, switches } = makeSwitches()
    mkdirSync(join(dir, 'real'))
    symlinkSync(join(dir, 'real'), join(dir, 'link'))
    switches.pause(join(dir, 'link'))
    switches.pause(`${join(dir, 'real')}/../real/`)
    expect(switches.paused()).toEqual({ all: false, projects: [join(dir, 'real')] })
    expect(switches.resume(join(dir, 'link'))).toEqual({ all: false, projects: [] })
  })

  it('name a folder private by whatever way it is reached, and its neighbours not', () => {
    const { dir } = makeHome()
    mkdirSync(join(dir, 'real/secret/deep'), { recursive: true })
    symlinkSync(join(dir, 'real'), join(dir, 'link'))
    const { switches } = makeSwitches([`${join(dir, 'link/secret')}/`])
    const because = (cwd: string) => switches.because(join(dir, cwd), findProjectRoot(join(dir, cwd)).root)
    const words = `${join(dir, 'link/secret')}/ is private`
    for (const cwd of ['real/secret', 'link/secret', 'real/secret/deep', 'link/secret/gone'])
      expect([cwd, because(cwd)]).toEqual([cwd, words])
    for (const cwd of ['real', 'real/secrets', 'other']) expect([cwd, because(cwd)]).toEqual([cwd, undefined])
  })

  it('take a folder that is not there by the name it was given', () => {
    const { switches } = makeSwitches()
    expect(switches.pause('/gone//away/').projects).toEqual(['/gone/away'])
  })

  it('refuse to resume below a paused folder, but not beside it', () => {
    const { dir, switches } = makeSwitches()
    switches.pause(`${dir}/b`)
    expect(() => switches.resume(`${dir}/b/c`)).toThrow(`${dir}/b/c stays paused: so is ${dir}/b`)
    expect(switches.resume(`${dir}/bc`)).toEqual({ all: false, projects: [`${dir}/b`] })
  })

  it('treat the root as everywhere', () => {
    const { switches } = makeSwitches()
    expect(switches.pause('/')).toEqual({ all: true, projects: [] })
    expect(switches.resume(undefined)).toEqual({ all: false, projects: [] })
  })
})
