import { it } from 'vitest'
import { killAnywhere } from '../support/purge-kills.ts'

it('finishes a purge that was killed anywhere, 150 times', () => killAnywhere(150, 600))
