import { it } from 'vitest'
import { killWhileImporting, killWhileMoving } from '../support/carry-kills.ts'

it(
  'finds a memory set that was taken in whole, or nothing of it, through 3 kills',
  () => killWhileImporting(3),
  180_000,
)
it('finds memories in one place, with their history, through 3 kills of a move', () => killWhileMoving(3))
