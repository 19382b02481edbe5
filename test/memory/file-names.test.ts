import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkFileName, checkReadName, twinAmong } from '../../daemon/memory/file-names.ts'
import { shown } from '../../daemon/platform/text.ts'
import { type Ground, hostileNames } from './hostile-names.ts'

const ground: Ground = { home: '/h', memory: '/h/memory', outside: '/h/outside' }

describe('the name of a memory', () => {
  it.each([
    'user_role.md',
    'feedback_testing.md',
    'a.md',
    'two words.md',
    'Größe und Maß.md',
    'проект.md',
    'プロジェクト.md',
    'なぜ？.md',
    '한국어.md',
    'नमस्ते.md',
    '🙂.md',
    'x²+½.md',
    '100%.md',
    'v1.2.3.md',
    'x.md.md',
    'a~b.md',
    "it's (really) [fine] & well, ok; #1 @home +x =y.md",
    'console.md',
    'com10.md',
    'null.md',
    'logs.md',
    'team.md',
    'teams/x.md',
    'a/logs/x.md',
    'my_MEMORY.md',
    'MEMORY.old.md',
    'team/x.md',
    'a/b/c/x.md',
    `${'x'.repeat(197)}.md`,
    `${'é'.repeat(98)}.md`,
  ])('may be %s', (file) => {
    expect(checkFileName(file)).toEqual({ ok: true, file })
  })

  it.each(['MEMORY.md', 'team/MEMORY.md'])('may be %s, which is an index', (file) => {
    expect(checkFileName(file)).toEqual({ ok: true, file })
  })

  it.each(hostileNames)('may not be $name ($group)', ({ path, says }) => {
    const given = typeof path === 'string' ? path : path(ground)
    expect(checkFileName(given)).toEqual({ ok: false, refused: expect.stringContaining(says) })
  })

  it('is told in words that one can read, print and log', () => {
    expect(checkFileName('a\u202e\x1b[2K\n.md')).toEqual({
      ok: false,
      refused: 'the name "a\\u{202e}\\u001b[2K\\n.md" has a control character in it',
    })
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), (name) => {
        expect(shown(name)).toMatch(/^"[^\p{C}\p{Zl}\p{Zp}]{0,900}"$/u)
      }),
    )
  })

  it('stays in the folder and is the same in every form, if it is taken at all', () => {
    const piece = fc.constantFrom(
      '.',
      '..',
      '/',
      '\\',
      'a',
      'B',
      '.md',
      ' ',
      '~',
      '%2e',
      '\0',
      '\u200b',
      '\uff0e',
      'é',
      '\u0301',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const name = checkFileName(`${pieces.join('')}.md`)
        if (!name.ok) return
        expect(new URL(name.file.replaceAll('%', '%25'), 'file:///m/').pathname).toMatch(/^\/m\/[^/]/)
        expect(name.file.normalize('NFKC').split('/')).toHaveLength(name.file.split('/').length)
        expect(checkReadName(name.file)).toEqual({ ok: true, segments: name.file.split('/') })
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('a name to read', () => {
  it.each([
    'x.txt',
    '.hidden',
    'logs/2026/03/31.md',
    'cafe\u0301.md',
    'a:b?.md',
    'a/b/c/d/e/f.md',
    'x\\y.md',
    'CON.md',
  ])('may be what others chose: %s', (name) => {
    expect(checkReadName(name)).toEqual({ ok: true, segments: name.split('/') })
  })

  it.each([
    '',
    '/',
    '/x.md',
    '..',
    '../x.md',
    'a/../x.md',
    'a//x.md',
    './x.md',
    'a/',
    'x\0.md',
    '\ud800.md',
    'a/'.repeat(40),
  ])('must lead to a place inside, unlike %j', (name) => {
    expect(checkReadName(name)).toEqual({ ok: false, refused: expect.stringContaining('leads to no place') })
  })
})

describe('twins', () => {
  it('are found among many others, and a name is no twin of itself', () => {
    expect(twinAmong('Straße.md', ['a.md', 'Straße.md', 'STRASSE.md'])).toBe('STRASSE.md')
    expect(twinAmong('Straße.md', ['a.md', 'Straße.md', 'Strase.md'])).toBeUndefined()
    expect(twinAmong('user_style.md', ['user_styles.md', 'user_style.md', 'User_Style.md'])).toBe('User_Style.md')
    expect(twinAmong('user_style.md', ['user_styles.md', 'user_ſtyle.md'])).toBe('user_ſtyle.md')
    expect(twinAmong('User_Style.md', ['user_styles.md', 'user_style.md'])).toBe('user_style.md')
    expect(twinAmong('user_style.md', ['user_styles.md', 'user_style.md'])).toBeUndefined()
  })
})
