/** Where the key to a model would come from, and whether it can be used. Runs no command and asks no server. */
import type { Environment } from '../../schema/rendezvous.ts'
import { readPrivateFile } from '../platform/files.ts'
import type { Finding } from './finding.ts'

type Wanted = { model: { apiKeyFile: string | null; apiKeyCommand: string | null }; budget: Caps }
type Caps = { usdPerDay: number; tokensPerDay: number }

export function keyFinding({ model, budget }: Wanted, env: Environment): Finding {
  const check = 'key'
  if (budget.usdPerDay === 0 || budget.tokensPerDay === 0)
    return { check, state: 'ok', message: 'the budget is 0: no model is called' }
  const name = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'].find((variable) => env[variable])
  // A service has an environment of its own, which cannot be seen from here.
  if (name) return { check, state: 'ok', message: `${name} is set here; a daemon started here is online` }
  if (model.apiKeyFile !== null) {
    const read = readPrivateFile(model.apiKeyFile)
    if ('trouble' in read) return { check, state: 'problem', message: read.trouble, remedy: read.remedy }
    const state = read.text.trim() === '' ? 'problem' : 'ok'
    const message = `${model.apiKeyFile} ${state === 'ok' ? 'is yours alone' : 'is empty'}`
    return { check, state, message, ...(state === 'problem' && { remedy: 'write the key into it' }) }
  }
  if (model.apiKeyCommand !== null) return { check, state: 'ok', message: 'a command of yours is asked for it' }
  return { check, state: 'ok', message: 'there is none here: a daemon started here is offline and calls no model' }
}
