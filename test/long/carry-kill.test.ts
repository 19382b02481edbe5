import { it } from 'vitest'
import { killWhileImporting, killWhileMoving } from '../support/carry-kills.ts'

it('finds a memory set that was taken in whole, or nothing of it, through 300 kills', () => killWhileImporting(300))
it('finds memories in one place, with their history, through 300 kills of a move', () => killWhileMoving(300))
