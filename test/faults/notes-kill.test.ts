import { it } from 'vitest'
import { killWhileNoting } from '../support/notes-kills.ts'

it('killed at any moment around an update, notes say exactly what is on record as covered', () => killWhileNoting(4))
