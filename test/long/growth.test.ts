import { expect, it } from 'vitest'
import { growthCampaign } from '../campaign/growth.ts'

it('costs for twice as much about twice as much, and holds no caller up', async () => {
  expect(await growthCampaign()).toMatchObject({ failed: 0 })
})
