import { it } from 'vitest'
import { killWhileMailed } from '../support/mail-kills.ts'

it('delivers what 8 agents write 1,000 times each, in order, through 250 kills', () => killWhileMailed(1_000, 32))
