import { it } from 'vitest'
import { alternate, contend } from '../support/lock-rounds.ts'

it('eight processes contend for the lock ten thousand times and never overlap', () => contend(10_000))

it('loses nothing of 400 lines to a program that follows the simple protocol', () => alternate(60, 400))
