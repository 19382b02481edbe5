import { it } from 'vitest'
import { killWhileNoting } from '../support/notes-kills.ts'

it('says in notes exactly what is on record as covered through 12 kills', () => killWhileNoting(12))
