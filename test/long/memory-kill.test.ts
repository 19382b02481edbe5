import { it } from 'vitest'
import { killWhileWriting } from '../support/memory-kills.ts'

it('keeps every acknowledged memory through 1,000 kills', () => killWhileWriting(1_000))
