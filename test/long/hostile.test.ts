import { expect, it } from 'vitest'
import { hostileCampaign } from '../campaign/hostile.ts'

it('answers whatever it is sent, keeps no credential, and lets nothing escape', async () => {
  expect(await hostileCampaign()).toMatchObject({ failed: 0 })
})
