/** The models of a daemon on a real core, without a process around them: key and caps are the test's. */
import type { Core } from '../../daemon/core.ts'
import { createLedger } from '../../daemon/models/budget.ts'
import { createModels } from '../../daemon/models/models.ts'
import type { OwnModels } from '../../daemon/models/prices.ts'
import type { manualTime } from '../support/clock.ts'
import { testCore } from '../support/core.ts'
import type { Home } from '../support/home.ts'

export type Wanted = {
  usdPerDay: number
  tokensPerDay: number
  models?: OwnModels
  apiKeyFile?: string
  apiKeyCommand?: string
}

type Around = { url: string; time: ReturnType<typeof manualTime>; home?: Home; key?: string | null }

export async function spendingRig(wanted: Wanted, { url, time, home, key = 'test-key' }: Around) {
  const env = { ANTHROPIC_BASE_URL: url, ...(key !== null && { ANTHROPIC_API_KEY: key }) }
  const { core: opened } = await testCore({ env, time, ...(home && { home }) })
  const live = { ...wanted }
  const current = () => {
    const { usdPerDay, tokensPerDay, models = {}, apiKeyFile = null, apiKeyCommand = null } = live
    const settings = opened.settings.current()
    const model = { ...settings.model, apiKeyFile, apiKeyCommand, idleSeconds: 1 }
    return { ...settings, model, budget: { usdPerDay, tokensPerDay }, models } as ReturnType<
      Core['settings']['current']
    >
  }
  const core: Core = { ...opened, settings: { ...opened.settings, current } }
  const model = core.lifecycle.add('models', createModels(core))
  let changes = 0
  const modeChanged = new Promise<void>((resolve) => {
    model.onModeChange(() => {
      changes++
      resolve()
    })
  })
  const problem = () => core.health.list().find(({ code }) => code === 'key')?.message
  const store = core.db
  return {
    core,
    store,
    ledger: createLedger(store.history),
    model,
    live,
    problem,
    modeChanges: () => changes,
    modeChanged,
  }
}
