import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { keyFinding } from '../../daemon/doctor/key.ts'
import { makeHome } from '../support/home.ts'

it('tells where the key to a model comes from, and what keeps it from being used', () => {
  const { dir } = makeHome()
  const budget = { usdPerDay: 1, tokensPerDay: 1 }
  const none = { apiKeyFile: null, apiKeyCommand: null }
  const file = (name: string, text: string, mode: number) => {
    const path = join(dir, name)
    writeFileSync(path, text)
    chmodSync(path, mode)
    return keyFinding({ model: { ...none, apiKeyFile: path }, budget }, {})
  }
  expect([
    keyFinding({ model: none, budget }, {}),
    keyFinding({ model: none, budget }, { ANTHROPIC_AUTH_TOKEN: 'sk-x' }),
    keyFinding({ model: { ...none, apiKeyCommand: 'exit 1' }, budget }, {}),
    keyFinding({ model: none, budget: { ...budget, usdPerDay: 0 } }, { ANTHROPIC_API_KEY: 'sk-x' }),
    file('good', 'sk-x\n', 0o600),
    file('empty', '\n', 0o600),
    file('open', 'sk-x', 0o644),
  ]).toEqual([
    { check: 'key', state: 'ok', message: 'there is none here: a daemon started here is offline and calls no model' },
    { check: 'key', state: 'ok', message: 'ANTHROPIC_AUTH_TOKEN is set here; a daemon started here is online' },
    { check: 'key', state: 'ok', message: 'a command of yours is asked for it' },
    { check: 'key', state: 'ok', message: 'the budget is 0: no model is called' },
    { check: 'key', state: 'ok', message: `${dir}/good is yours alone` },
    { check: 'key', state: 'problem', message: `${dir}/empty is empty`, remedy: 'write the key into it' },
    {
      check: 'key',
      state: 'problem',
      message: `${dir}/open can be read by others (mode 644)`,
      remedy: `chmod 600 ${dir}/open`,
    },
  ])
})
