import { it } from 'vitest'
import { killAndStartAgain, startTogether } from '../support/kill-rounds.ts'

it('starts again after each of 200 kills, with everything that was acknowledged', () => killAndStartAgain(200))

it('lets one of 20 daemons started at once serve, ten times over', async () => {
  for (let round = 0; round < 10; round++) await startTogether(20)
})
