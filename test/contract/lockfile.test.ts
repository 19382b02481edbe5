import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

type Entry = { version?: string; resolved?: string; gypfile?: boolean; optionalDependencies?: Record<string, string> }

const { packages } = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as {
  packages: Record<string, Entry>
}

it('locks the packages of every platform, so that `npm ci` works on each', () => {
  const named = Object.values(packages).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}))
  const locked = new Set(Object.keys(packages).map((path) => path.slice(path.lastIndexOf('node_modules/') + 13)))
  expect(named.filter((name) => !locked.has(name))).toEqual([])
})

it('names no registry', () => {
  expect(Object.keys(packages).filter((path) => /^https?:/.test(packages[path]?.resolved ?? ''))).toEqual([])
})

// npm drops this line whenever it rewrites the lockfile, and then runs node-gyp on a package that brings its binaries.
it('tells npm that better-sqlite3 needs no compiler', () => {
  expect(packages['node_modules/better-sqlite3']?.gypfile).toBe(false)
})
