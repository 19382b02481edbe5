import { it } from 'vitest'
import { killWhileExtracting } from '../support/extraction-kills.ts'

it('saves what was stated exactly once through 24 kills around the ends of turns', () => killWhileExtracting(24))
