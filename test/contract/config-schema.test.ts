import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Settings, settingsJsonSchema } from '../../daemon/settings/settings.ts'
import { projectRoot } from '../support/sources.ts'

it('publishes the JSON schema of the settings as they are (npm run config-schema writes it)', () => {
  const published = JSON.parse(readFileSync(join(projectRoot, 'schema', 'config.schema.json'), 'utf8'))
  expect(published).toEqual(JSON.parse(JSON.stringify(settingsJsonSchema())))
})

it('shows in the docs the defaults that are in force', () => {
  const page = readFileSync(join(projectRoot, 'docs/configuration.md'), 'utf8')
  const shown = /```json\n(\{\n {2}"roots"[\s\S]*?\n\})\n```/.exec(page)?.[1] ?? ''
  expect(JSON.parse(shown)).toEqual(Settings.parse({}))
})
