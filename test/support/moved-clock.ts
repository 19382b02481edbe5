/** A daemon whose wall clock can really be moved while it runs, by libfaketime. Its timers go on as they were. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'vitest'
import type { Home } from './home.ts'

const FOLDERS = ['/usr/lib', '/usr/lib64', '/usr/local/lib']

export type MovedClock = {
  /** The same home, for the daemon. */
  home: Home
  move(byMs: number): void
}

/** Skips where libfaketime is not installed: no other clock is touched for a test. */
export function movedClock({ skip }: TestContext, home: Home): MovedClock {
  const library = FOLDERS.flatMap(libraries).find((path) => existsSync(path))
  if (library === undefined) {
    const reason = 'not on this machine: libfaketime (Debian: apt-get install faketime)'
    console.warn(`skipped, ${reason}`)
    skip(reason)
  }
  const file = join(home.dir, 'moved-by')
  const move = (byMs: number) => writeFileSync(file, `+${Math.round(byMs / 1_000)}`)
  move(0)
  const env = {
    ...home.env,
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    // Times of files are the kernel's, which goes by its own clock.
    NO_FAKE_STAT: '1',
    FAKE_UTIME: '0',
  }
  return { home: { ...home, env }, move }
}

function libraries(folder: string): string[] {
  const inside = existsSync(folder) ? readdirSync(folder) : []
  return ['', ...inside].map((name) => join(folder, name, 'faketime', 'libfaketimeMT.so.1'))
}
