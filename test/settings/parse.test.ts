import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseSettings } from '../../daemon/settings/parse.ts'

const at = { env: {}, home: '/home/ada' }
const problemsOf = (value: unknown) => {
  const parsed = parseSettings(JSON.stringify(value), at)
  return 'problems' in parsed ? parsed.problems : []
}

describe('settings', () => {
  it.each([
    ['a b c d e', /expected a cron expression \(a is .* for minute\), got "a b c d e"/],
    ['60 * * * *', /60 is .* for minute/],
    ['*/0 * * * *', /minute/],
    ['0-99999999 * * * *', /more than two digits/],
    ['0 24 * * *', /24 is .* for hour/],
    ['0 0 30 2 *', /impossible day of month/],
    ['0 0 * foo *', /foo is .* for month/],
    ['* * * *', /five or six/],
  ])('take no calendar that is none: %s', (cron, said) => {
    expect(problemsOf({ dream: { cron } })).toEqual([expect.stringMatching(said)])
  })

  it.each(['*/30 * * * *', '0 3 * * *', '15,45 8-18/2 1-15 jan-mar mon-fri', '30 0 0 29 2 *', '0 0 31 * 7'])(
    'take a calendar that is one: %s',
    (cron) => expect(problemsOf({ dream: { cron } })).toEqual([]),
  )

  it('are the defaults, with the home filled in, when the file says nothing', () => {
    const parsed = parseSettings('{}', at)
    expect(parsed).toMatchObject({
      settings: {
        roots: { 'claude-code': ['/home/ada/.claude/projects'], generic: [] },
        budget: { usdPerDay: 1, tokensPerDay: 5_000_000 },
        retention: { days: 30, maxBytes: 2_000_000_000, backups: 7 },
        log: { level: 'info', maxBytes: 20_000_000 },
      },
    })
  })

  it('change only what the file names', () => {
    const parsed = parseSettings('{"log":{"level":"debug"},"private":["~/secret"]}', at)
    expect(parsed).toMatchObject({
      settings: { log: { level: 'debug', maxBytes: 20_000_000 }, private: ['/home/ada/secret'] },
    })
  })

  it('cannot be changed by their readers', () => {
    const parsed = parseSettings('{}', at)
    expect(() => {
      // @ts-expect-error the type forbids it as well
      parsed.settings.log.level = 'debug'
    }).toThrow(TypeError)
  })

  it('move the root of Claude Code with CLAUDE_CONFIG_DIR unless the file names one', () => {
    const env = { CLAUDE_CONFIG_DIR: '/cc' }
    expect(parseSettings('{}', { ...at, env })).toMatchObject({
      settings: { roots: { 'claude-code': ['/cc/projects'] } },
    })
    const named = '{"roots":{"claude-code":["/mine"]}}'
    expect(parseSettings(named, { ...at, env })).toMatchObject({ settings: { roots: { 'claude-code': ['/mine'] } } })
  })
})

describe('a wrong configuration', () => {
  it.each([
    [{ budget: { usdPerDay: 'lots' } }, 'budget.usdPerDay: expected number, got "lots"'],
    [{ budget: { usdPerDay: -1 } }, 'budget.usdPerDay: Too small: expected number to be >=0, got -1'],
    [{ recall: { k: 9 } }, 'recall.k: Too big: expected number to be <=5, got 9'],
    [{ log: { level: 'loud' } }, 'log.level: expected one of "debug"|"info"|"warn"|"error", got "loud"'],
    [{ log: { levle: 'info' } }, 'log.levle: unknown key; expected one of level, maxBytes'],
    [{ private: ['here'] }, 'private.0: expected a path that starts with / or ~/, got "here"'],
    [{ dream: { cron: 'daily' } }, 'dream.cron: expected five or six cron fields, got "daily"'],
    [[], 'the whole file: expected object, got a list'],
  ])('%j is answered with place and expectation', (value, problem) => {
    expect(problemsOf(value)).toEqual([problem])
  })

  it('take what is known of models, and refuse what is not a price', () => {
    const models = { 'qwen-3': { windowTokens: 32_000, prices: [{ input: 0.2, output: 0.6, upToTokens: 1_000 }] } }
    expect(parseSettings(JSON.stringify({ models }), at)).toMatchObject({ settings: { models } })
    expect(
      problemsOf({
        models: { a: { price: 1 }, b: { prices: [{ input: -1, output: 1 }] }, c: { prices: [{ in: 1 }] } },
      }),
    ).toEqual([
      'models.a.price: unknown key; expected one of windowTokens, maxOutputTokens, prices',
      'models.b.prices.0.input: Too small: expected number to be >=0, got -1',
      'models.c.prices.0.input: expected number, got nothing',
      'models.c.prices.0.output: expected number, got nothing',
      'models.c.prices.0.in: unknown key; expected one of upToTokens, input, output, cacheRead, cacheWrite5m, cacheWrite1h',
    ])
  })

  it('name a key file by a path of its own, with the home filled in', () => {
    const parsed = parseSettings('{"model":{"apiKeyFile":"~/key"}}', at)
    expect(parsed).toMatchObject({ settings: { model: { apiKeyFile: '/home/ada/key' } } })
    expect(problemsOf({ model: { apiKeyFile: 'key' } })).toEqual([
      'model.apiKeyFile: expected a path that starts with / or ~/, got "key"',
    ])
  })

  it('names all mistakes at once', () => {
    expect(problemsOf({ sweepSeconds: 0, review: 1, nonsense: true })).toHaveLength(3)
  })

  it.each([
    ['{\n  "log": {\n    "level": "info",\n  }\n}', 'line 4, column 3'],
    ['{ "log": ', 'line 1, column 10'],
    ['{\n  "log": {\n    "level": info\n  },\n  "review": "auto"\n}\n', 'line 3, column 14'],
    ['{\n  "sweepSeconds": True\n}', 'line 2, column 19'],
    ['{\n  "a": 1\n  "b": 2\n}', 'line 3, column 3'],
    ['', 'line 1, column 1'],
  ])('names the line of what is not JSON: %j', (text, place) => {
    const parsed = parseSettings(text, at)
    expect('problems' in parsed && parsed.problems[0]).toMatch(new RegExp(`^${place}: not valid JSON`))
  })

  it('is refused in a few words however deep or wide it is', () => {
    const deep = parseSettings(`{"log":${'['.repeat(40_000)}${']'.repeat(40_000)}}`, at)
    expect(deep).toEqual({ problems: ['log: expected object, got a list'] })
    const wide = parseSettings(
      JSON.stringify(Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`k${n}`, n]))),
      at,
    )
    expect('problems' in wide && wide.problems.at(-1)).toBe('and 4990 more')
  })

  it('is refused with words, never with an exception, whatever it holds', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
        const parsed = parseSettings(text, at)
        if ('problems' in parsed) expect(parsed.problems.length).toBeGreaterThan(0)
      }),
    )
  })
})
