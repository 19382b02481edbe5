import { it } from 'vitest'
import { killWhileMailed } from '../support/mail-kills.ts'

it('delivers what 8 agents write 25 times each, in order, through kills of the daemon and of readers', () =>
  killWhileMailed(25, 32))
