import { it } from 'vitest'
import { killWhileExtracting } from '../support/extraction-kills.ts'

it('killed at any moment around the end of a turn, it saves what was stated exactly once', () => killWhileExtracting(4))
