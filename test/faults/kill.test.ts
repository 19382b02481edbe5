import { it } from 'vitest'
import { killAndStartAgain, startTogether } from '../support/kill-rounds.ts'

it('starts again after each of 4 kills, with everything that was acknowledged', () => killAndStartAgain(4))

it('lets one of 8 daemons started at once serve, and the others name it', () => startTogether(8))
