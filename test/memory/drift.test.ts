import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { driftOf, mentionsIn } from '../../daemon/memory/drift.ts'
import { makeHome } from '../support/home.ts'

function project(files: Record<string, string>) {
  const { dir } = makeHome()
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(dir, file, '..'), { recursive: true })
    writeFileSync(join(dir, file), text)
  }
  return dir
}

describe('what a memory names', () => {
  it.each([
    ['The parser is in src/parse/lines.ts.', ['path src/parse/lines.ts']],
    ['Run `./scripts/deploy.sh staging` first.', ['path ./scripts/deploy.sh']],
    ['Everything in `docs/adr/` is old.', ['path docs/adr/']],
    ['Use `npm run build:web` or pnpm run lint.', ['script build:web', 'script lint']],
    ['`make release` tags it.', ['target release']],
    ['See https://example.org/src/app.ts and git@host:a/b.git', []],
    ['He and/or she, client/server, 24/7, n/a, v1.2/v1.3', []],
    ['The file feedback_x.md and package.json', []],
    ['/etc/passwd.conf and ~/notes/a.md and ../other/x.ts', []],
    ['make sure that npm is there', []],
  ])('%s', (text, names) => {
    expect(mentionsIn(text).map(({ kind, name }) => `${kind} ${name}`)).toEqual(names)
  })
})

describe('drift', () => {
  const facts = () =>
    project({
      'src/app.ts': '',
      'package.json': '{"scripts": {"build": "x"}}',
      Makefile: 'all: build\nbuild test: x\n\techo a:b\nX := y\n',
    })
  it('is what the project does not have any more, and nothing else', () => {
    const text =
      'src/app.ts and src/old.ts; `npm run build`, `npm run gone`; `make all`, `make test`, `make clean`; `src/` stays.'
    expect(driftOf(text, facts())).toEqual([
      { kind: 'path', name: 'src/old.ts' },
      { kind: 'script', name: 'gone' },
      { kind: 'target', name: 'clean' },
    ])
  })

  it.each(['{}', '{"scripts": null}', '{"scripts": "gone"}'])('is a script where a package has none: %s', (text) => {
    expect(driftOf('`npm run gone`', project({ 'package.json': text }))).toEqual([{ kind: 'script', name: 'gone' }])
  })

  it('is not claimed where nothing can be looked up', () => {
    const empty = project({})
    expect(driftOf('`npm run gone`, `make gone`', empty)).toEqual([])
    expect(driftOf('src/gone.ts', '/nowhere/at/all')).toEqual([])
    expect(driftOf('`make gone`', project({ Makefile: 'include other.mk\nall:\n' }))).toEqual([])
    expect(driftOf('`npm run gone`', project({ 'package.json': 'not JSON' }))).toEqual([])
  })

  it.each([
    ['options that no script follows', `npm run ${'--x '.repeat(60)}!`],
    ['one word without an end', 'a'.repeat(64 * 1024)],
    ['an address without an end', `${'a.'.repeat(32 * 1024)}://`],
  ])('is looked for in no time in %s', { timeout: 5_000 }, (_what, text) => {
    expect(mentionsIn(text)).toEqual([])
  })

  it.each([
    ['blanks', ' '.repeat(900_000)],
    ['empty lines', '\n'.repeat(900_000)],
    ['short lines', 'a\n'.repeat(450_000)],
  ])('is looked for in no time in a makefile of %s', { timeout: 5_000 }, (_what, text) => {
    expect(driftOf('`make gone`', project({ Makefile: `${text}\nall: x\n` }))).toEqual([
      { kind: 'target', name: 'gone' },
    ])
  })

  it('is not claimed where a makefile makes its targets by a rule', () => {
    expect(driftOf('`make gone`', project({ Makefile: 'all: x\n%: %.c\n\tcc\n' }))).toEqual([])
    expect(driftOf('`make gone`', project({ Makefile: 'all: x\n$(OTHERS): x\n' }))).toEqual([])
    expect(driftOf('`make gone`', project({ Makefile: 'X = 100%\nall:: x\n' }))).toHaveLength(1)
  })

  it('is not looked for in what is no plain file', { timeout: 5_000 }, () => {
    const { dir } = makeHome()
    symlinkSync('/dev/zero', join(dir, 'package.json'))
    execFileSync('mkfifo', [join(dir, 'Makefile')])
    expect(driftOf('`npm run gone` and `make gone`', dir)).toEqual([])
  })
})
