import { it } from 'vitest'
import { contend } from '../support/lock-rounds.ts'

it('eight processes contend for the lock ten thousand times and never overlap', () => contend(10_000))
