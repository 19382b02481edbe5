import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { makeHome } from '../support/home.ts'

const dist = fileURLToPath(new URL('../../dist/', import.meta.url))

function written(source: string): string {
  const file = join(makeHome().dir, 'bundle.cjs')
  writeFileSync(file, source)
  execFileSync(process.execPath, [join(dist, 'daemon/platform/ascii-bundle.js'), file], { stdio: 'pipe' })
  return readFileSync(file, 'utf8')
}

describe('a bundle in ASCII', () => {
  it.each([
    ["'别再 – “so” 😀'", '别再 – “so” 😀'],
    ['`一\\n二`', '一\n二'],
    ["'a周b😀c'.match(/[周-回]|😀/gu).join()", '周,😀'],
    ["/[\\\\€]/.exec('5€')[0]", '€'],
    ['({ größe: 3 }).größe', 3],
    ['/* ünïcode */ 1', 1],
  ])('means what it meant: %s', (source, value) => {
    const text = written(source)
    expect(text).toMatch(/^[\0-\x7f]*$/)
    expect(runInNewContext(source)).toBe(value)
    expect(runInNewContext(text)).toBe(value)
  })

  it.each(["'\\é'", 'String.raw`é`'])('is refused where it would mean something else: %s', (source) => {
    expect(() => written(source)).toThrow(/cannot be written in ASCII/)
  })

  it('is what the daemon and its threads run', () => {
    const bundles = readdirSync(join(dist, 'bundle')).filter((name) => /\.c?js$/.test(name))
    const others = bundles.filter((name) => /[^\0-\x7f]/.test(readFileSync(join(dist, 'bundle', name), 'utf8')))
    expect({ others, some: bundles.includes('daemon.cjs') }).toEqual({ others: [], some: true })
  })
})
