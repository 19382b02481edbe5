import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hookCommand } from '../../client/cli/connect/connect.ts'
import { addHooks, hasHooks, removeHooks } from '../../client/cli/connect/hook-settings.ts'
import { JsoncError, parseJsonc, plain } from '../../client/cli/connect/jsonc.ts'
import type { Piece } from '../../client/cli/connect/pieces.ts'

const COMMAND = hookCommand('claude-code', `/run/it's here/memoryd.sock`)
const group = () => ({ hooks: [{ type: 'command', command: COMMAND, timeout: 5 }] })
const EVENTS = Object.fromEntries(['SessionStart', 'Stop', 'PreCompact'].map((event) => [event, group()]))

const theirs = { matcher: '*', hooks: [{ type: 'command', command: 'echo "hi" // no comment' }] }

/** Values as settings have them, with hooks of others or none. */
const settings = fc.record(
  {
    model: fc.string(),
    env: fc.dictionary(fc.string(), fc.string(), { maxKeys: 3 }),
    permissions: fc.record({ allow: fc.array(fc.string(), { maxLength: 3 }) }),
    hooks: fc.record(
      { Stop: fc.array(fc.constant(theirs), { maxLength: 2 }), Notification: fc.constant([theirs]) },
      { requiredKeys: [] },
    ),
    n: fc.oneof(fc.integer(), fc.boolean(), fc.constant(null)),
  },
  { requiredKeys: [] },
)

const COMMENTS = ['', '', ' ', '// a note: {"hooks": 1}', '/* [odd], */', '\t']

/** The same value as a user might have written it: own blanks, comments and trailing commas between the tokens. */
function written(value: unknown, random: () => number, eol: string): string {
  const unit = ['', '  ', '\t', '    '][Math.floor(random() * 4)] as string
  const isOpen = unit !== ''
  const gap = () => {
    const comment = COMMENTS[Math.floor(random() * COMMENTS.length)] as string
    if (comment.startsWith('//')) return ` ${comment}${eol}`
    return comment === '' && isOpen ? '' : comment
  }
  const write = (each: unknown, depth: number): string => {
    const line = isOpen && random() < 0.8 ? `${eol}${unit.repeat(depth + 1)}` : ''
    const close = line === '' ? '' : `${eol}${unit.repeat(depth)}`
    const list = (open: string, parts: string[], end: string) => {
      if (parts.length === 0) return `${open}${random() < 0.3 ? gap() : ''}${end}`
      const trailing = random() < 0.2 ? ',' : ''
      return `${open}${parts.map((part) => `${gap()}${line}${part}${random() < 0.2 ? gap() : ''}`).join(',')}${trailing}${gap()}${close}${end}`
    }
    if (Array.isArray(each))
      return list(
        '[',
        each.map((item) => write(item, depth + 1)),
        ']',
      )
    if (typeof each === 'object' && each !== null)
      return list(
        '{',
        Object.entries(each).map(
          ([key, item]) => `${JSON.stringify(key)}:${random() < 0.5 ? ' ' : ''}${write(item, depth + 1)}`,
        ),
        '}',
      )
    return JSON.stringify(each)
  }
  return `${gap()}${write(value, 0)}${gap()}`
}

function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const texts = fc
  .tuple(settings, fc.integer(), fc.constantFrom('\n', '\r\n'))
  .map(([value, seed, eol]) => ({ value, text: written(value, seeded(seed), eol) }))

/** What they are with our hooks, by the rules of JSON alone. */
function merged(value: { hooks?: Record<string, unknown[]> }) {
  const hooks: Record<string, unknown[]> = { ...value.hooks }
  for (const [event, added] of Object.entries(EVENTS)) hooks[event] = [...(hooks[event] ?? []), added]
  return { ...value, hooks }
}

const TOKEN = /"(?:[^"\\]|\\.)*"|\/\/[^\n]*\n?|\/\*[\s\S]*?\*\/|[\s\S]/g

const commentsOf = (text: string) =>
  (text.match(TOKEN) ?? []).flatMap((token) => (/^\/[/*]/.test(token) ? [token.trimEnd()] : []))

/** Where a comment can stand. */
function gapsOf(text: string): number[] {
  let at = 0
  const gaps = [0]
  for (const token of text.match(TOKEN) ?? []) {
    at += token.length
    // Not between the letters of a number or a word, and not as a part of another comment.
    if (!/[\w.+-]$/.test(token) && !(token.startsWith('//') && !token.endsWith('\n'))) gaps.push(at)
  }
  return gaps
}

/** Where a place of the text before stands in the one after. */
function placeIn(pieces: readonly Piece[], place: number): number {
  return pieces.reduce((at, piece) => (piece.at <= at ? at + piece.text.length : at), place)
}

const isBeside = (pieces: readonly Piece[], at: number) =>
  pieces.some((piece) => at >= piece.at && at <= piece.at + piece.text.length)

describe('hooks in settings of any form', () => {
  it('come in beside what is there, and go without a trace', () => {
    fc.assert(
      fc.property(texts, ({ value, text }) => {
        const { text: after, pieces } = addHooks(text, EVENTS)
        expect(plain(parseJsonc(after))).toEqual(merged(value as never))
        expect(hasHooks(after)).toBe(true)
        expect(removeHooks(after, { before: text, pieces })).toBe(text)
      }),
      { numRuns: 500 },
    )
  })

  it('go alone when the user has changed something else meanwhile', () => {
    fc.assert(
      fc.property(texts, fc.constantFrom('first', 'last', 'comment'), ({ text }, where) => {
        const edit = (whole: string) => {
          const root = parseJsonc(whole) as { start: number; end: number; members: { value: { end: number } }[] }
          const isEmpty = root.members.length === 0
          if (where === 'comment') return `// mine\n${whole}`
          const at = where === 'first' ? root.start + 1 : (root.members.at(-1)?.value.end ?? root.start + 1)
          const added = where === 'first' ? `"zz": [1]${isEmpty ? '' : ','}` : `${isEmpty ? '' : ','}"zz": [1]`
          return whole.slice(0, at) + added + whole.slice(at)
        }
        const { text: after, pieces } = addHooks(text, EVENTS)
        const left = removeHooks(edit(after), { before: text, pieces })
        const wanted = edit(text)
        const same = plain(parseJsonc(wanted))
        expect(isDeepStrictEqual(plain(parseJsonc(left)), same)).toBe(true)
        // What the user wrote right beside what is ours keeps its meaning; anywhere else every byte stays as it is.
        const isBeside = where === 'last' || Object.keys(plain(parseJsonc(text)) as object).length === 0
        if (where === 'comment' || !isBeside) expect(left).toBe(wanted)
      }),
      { numRuns: 500 },
    )
  })

  it('go alone, byte for byte, when the user has changed several other things, and no note of theirs is ever lost', () => {
    fc.assert(
      fc.property(texts, fc.array(fc.nat(), { minLength: 2, maxLength: 4 }), ({ text }, picks) => {
        const { text: after, pieces } = addHooks(text, EVENTS)
        const places = gapsOf(text)
        const at = [...new Set(picks.map((pick) => places[pick % places.length] as number))].sort((a, b) => b - a)
        const notes = at.map((_place, n) => `/* note ${n} */`)
        const edited = (whole: string, where: (place: number) => number) =>
          at.reduce((now, place, n) => now.slice(0, where(place)) + notes[n] + now.slice(where(place)), whole)
        const wanted = edited(text, (place) => place)
        const left = removeHooks(
          edited(after, (place) => placeIn(pieces, place)),
          { before: text, pieces },
        )
        expect(plain(parseJsonc(left))).toEqual(plain(parseJsonc(text)))
        for (const note of notes) expect(left).toContain(note)
        expect(commentsOf(left)).toEqual(commentsOf(wanted))
        if (!at.some((place) => isBeside(pieces, placeIn(pieces, place)))) expect(left).toBe(wanted)
      }),
      { numRuns: 1_000 },
    )
  })

  it.each([
    ['{\n  "model": "sonnet",\n  "hooks": { /* none */ },\n  "theme": "dark"\n}\n'],
    ['{\n  "model": "sonnet",\n  "hooks": { },\n  "theme": "dark"\n}\n'],
    ['{\n  "model": "sonnet",\n  "hooks": {\n  },\n  "theme": "dark"\n}\n'],
    ['{\n  "model": "sonnet",\n  "hooks": {\n    "Stop": [\n\n    ]\n  },\n  "theme": "dark"\n}\n'],
    [
      '{\n  "model": "sonnet",\n  "hooks": {\n    "Stop": [\n      { "hooks": [] }\n      // off for now\n      ,\n    ]\n  },\n  "theme": "dark"\n}\n',
    ],
  ])('go without a trace from between two edits: %j', (before) => {
    const edit = (text: string) => text.replace('sonnet', 'opus').replace('dark', 'light')
    const { text, pieces } = addHooks(before, EVENTS)
    expect(removeHooks(edit(text), { before, pieces })).toBe(edit(before))
  })

  it('leave what people noted in and beside them, where they go by their shape', () => {
    const { text } = addHooks('{\n  "hooks": {\n    "Stop": [1 /* one */, /* two */]\n  }\n}\n', EVENTS)
    const noted = text
      .replace('"timeout": 5', '"timeout": 60 // long\n')
      .replace('"PreCompact"', '// three\n    "PreCompact"')
    expect(commentsOf(removeHooks(noted)).sort()).toEqual(['/* one */', '/* two */', '// long', '// three'])
    expect(plain(parseJsonc(removeHooks(noted)))).toEqual({ hooks: { Stop: [1] } })
  })

  it('leave each note a note of its own, where they stood in one line', () => {
    const { text } = addHooks('{ "a": 1, "hooks": { "Stop": [ ] } }', { Stop: group() })
    const left = removeHooks(text.replace('"hooks":[', '//one\n"hooks"://two\n[/* three */'))
    expect(commentsOf(left)).toEqual(['//one', '//two', '/* three */'])
    expect(plain(parseJsonc(left))).toEqual({ a: 1 })
    const before = '{\n  "hooks": {\n    "Stop": [] // mine\n  }\n}\n'
    const { text: after, pieces } = addHooks(before, { Notification: group() })
    const between = removeHooks(after.replace(/\]\n {2}\}/, ']// and mine\n  }'), { before, pieces })
    expect(commentsOf(between)).toEqual(['// mine', '// and mine'])
  })

  it.each([
    '~/bin/memoryd-hook-wrapper.sh mine',
    "sh '/home/me/memoryd-hook.sh.mine' claude-code 's'",
    `echo "sh 'x/memoryd-hook.sh' claude-code 's' 2>/dev/null || :"`,
    `${COMMAND} && mine`,
  ])('are ours only in our own form, and %s is not', (command) => {
    const theirs = JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: 'command', command }] }] } })
    expect(hasHooks(theirs)).toBe(false)
    expect(removeHooks(addHooks(theirs, EVENTS).text)).toBe(theirs)
  })

  it('go by their shape alone, when it is not known how they came in', () => {
    fc.assert(
      fc.property(texts, ({ value, text }) => {
        const left = removeHooks(addHooks(text, EVENTS).text)
        const { hooks, ...rest } = plain(parseJsonc(left)) as { hooks?: object }
        const { hooks: had, ...others } = JSON.parse(JSON.stringify(value)) as { hooks?: Record<string, unknown[]> }
        expect(rest).toEqual(others)
        const kept = Object.fromEntries(Object.entries(had ?? {}).filter(([, groups]) => groups.length > 0))
        const left_ = Object.fromEntries(Object.entries(hooks ?? {}).filter(([, groups]) => groups.length > 0))
        expect(left_).toEqual(kept)
        expect(hasHooks(left)).toBe(false)
      }),
      { numRuns: 300 },
    )
  })

  it('go after a formatter has rewritten the whole file', () => {
    fc.assert(
      fc.property(texts, ({ value, text }) => {
        const { text: after, pieces } = addHooks(text, EVENTS)
        const formatted = JSON.stringify(plain(parseJsonc(after)), null, 8)
        const left = removeHooks(formatted, { before: text, pieces })
        expect(plain(parseJsonc(left))).toEqual(plain(parseJsonc(text)))
        expect(value).toBeDefined()
      }),
      { numRuns: 500 },
    )
  })

  it('leave alone what the user put into a group of ours', () => {
    const { text, pieces } = addHooks('{}', { Stop: group() })
    const value = JSON.parse(text) as { hooks: { Stop: { hooks: object[] }[] } }
    value.hooks.Stop[0]?.hooks.push({ type: 'command', command: 'true' })
    const left = removeHooks(JSON.stringify(value), { before: '{}', pieces })
    expect(JSON.parse(left)).toEqual({ hooks: { Stop: [{ hooks: [{ type: 'command', command: 'true' }] }] } })
  })

  it('stand as a person would have written them', () => {
    const before = '{\n  // mine\n  "model": "opus", // for now\n  "hooks": {\n    "Stop": []\n  }\n}\n'
    expect(addHooks(before, { Stop: { hooks: [{ command: 'memoryd-hook' }] } }).text).toBe(
      '{\n  // mine\n  "model": "opus", // for now\n  "hooks": {\n    "Stop": [\n      {\n        "hooks": [\n          {\n            "command": "memoryd-hook"\n          }\n        ]\n      }\n    ]\n  }\n}\n',
    )
    expect(addHooks('{"a":1}', { Stop: { hooks: [] } }).text).toBe('{"a":1,"hooks":{"Stop":[{"hooks":[]}]}}')
    expect(addHooks('', { Stop: { hooks: [] } }).text).toBe(
      '{\n  "hooks": {\n    "Stop": [\n      {\n        "hooks": []\n      }\n    ]\n  }\n}\n',
    )
  })

  it.each([
    ['{"a": }', 1, 7],
    ['{\n  "a": 1\n  "b": 2\n}', 3, 3],
    ['{"hooks": {}, "hooks": {}}', 1, 22],
    ['{"a": "x', 1, 9],
    ['[1, 2', 1, 6],
    ['/* open', 1, 1],
    ['{"a": tru}', 1, 7],
    ['{} x', 1, 4],
  ])('are refused with the place: %j', (text, line, column) => {
    try {
      addHooks(text, EVENTS)
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(JsoncError)
      expect(error).toMatchObject({ line, column })
    }
  })

  it('reads every JSON as JSON does', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const text = JSON.stringify(value, null, space)
        expect(plain(parseJsonc(text))).toEqual(JSON.parse(text))
      }),
    )
  })
})
