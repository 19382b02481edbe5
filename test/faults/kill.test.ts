import { it } from 'vitest'
import { killAndStartAgain, startTogether } from '../support/kill-rounds.ts'

it('starts again after each of 20 kills, with everything that was acknowledged', () => killAndStartAgain(20))

it('lets one of 20 daemons started at once serve, and the others name it', () => startTogether(20))
