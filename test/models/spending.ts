/** The model of a daemon over a real ledger, without a process around it: key and caps are the test's. */
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openDatabases } from '../../daemon/db/databases.ts'
import { createSender } from '../../daemon/models/anthropic.ts'
import { createLedger } from '../../daemon/models/budget.ts'
import { createModel, type Model } from '../../daemon/models/models.ts'
import type { OwnModels } from '../../daemon/models/prices.ts'
import type { Clock } from '../../daemon/platform/clock.ts'
import { makeHome } from '../support/home.ts'
import { asItIs } from './asking.ts'

export type Wanted = {
  usdPerDay: number
  tokensPerDay: number
  models?: OwnModels
  apiKeyFile?: string
  apiKeyCommand?: string
}

type Around = { url: string; clock: Clock; stateDir?: string; key?: string | null }

export function spendingRig(wanted: Wanted, { url, clock, stateDir, key = 'test-key' }: Around) {
  const dir = stateDir ?? join(makeHome().dir, 'state')
  const store = openDatabases(dir, clock.now())
  const ledger = createLedger(store.history)
  const live = { ...wanted }
  const troubles: (string | undefined)[] = []
  let changes = 0
  let change = () => {}
  const modeChanged = new Promise<void>((resolve) => {
    change = resolve
  })
  const model: Model = createModel({
    env: { ANTHROPIC_BASE_URL: url, ...(key !== null && { ANTHROPIC_API_KEY: key }) },
    settings: () => ({
      model: {
        baseUrl: null,
        apiKeyFile: live.apiKeyFile ?? null,
        apiKeyCommand: live.apiKeyCommand ?? null,
        idleSeconds: 1,
      },
      budget: live,
      models: live.models ?? {},
    }),
    ledger,
    send: createSender({ clock }),
    clock,
    redact: asItIs,
    onTrouble: (trouble) => void troubles.push(trouble),
    onModeChange: () => {
      changes++
      change()
    },
  })
  const close = () => {
    model.stop()
    if (store.history.open) store.close()
  }
  onTestFinished(close)
  return { dir, store, ledger, model, live, troubles, modeChanges: () => changes, modeChanged, close }
}
