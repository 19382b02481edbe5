import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findProjectRoot } from '../../daemon/locate/project-root.ts'
import { createPauses } from '../../daemon/store/pauses.ts'
import { openStore } from '../../daemon/store/store.ts'
import { createSwitches } from '../../daemon/switches/switches.ts'
import { manualTime } from '../support/clock.ts'
import { makeHome } from '../support/home.ts'

function makeSwitches() {
  const { dir } = makeHome()
  const store = openStore(join(dir, 'state'), 0)
  return {
    dir,
    switches: createSwitches({
      pauses: createPauses(store.history),
      clock: manualTime().clock,
      rootOf: (cwd) => findProjectRoot(cwd).root,
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
