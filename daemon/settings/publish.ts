/** Build tool: writes the JSON schema of the configuration. Run as `node daemon/settings/publish.ts <file>`. */
import { writeFileSync } from 'node:fs'
import { settingsJsonSchema } from './settings.ts'

const file = process.argv[2]
if (!file) throw new Error('usage: node daemon/settings/publish.ts <file>')
writeFileSync(file, `${JSON.stringify(settingsJsonSchema(), null, 2)}\n`)
