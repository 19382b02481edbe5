import { it } from 'vitest'
import { killWhileWriting } from '../support/memory-kills.ts'

it('keeps every acknowledged memory through 4 kills, with files, index and journal agreeing', () => killWhileWriting(4))
