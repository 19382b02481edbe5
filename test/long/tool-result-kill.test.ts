import { it } from 'vitest'
import { killWhileKeeping } from '../support/tool-result-kills.ts'

it('keeps every result it acknowledged, and the same bytes for it, through 20 kills', () => killWhileKeeping(20))
