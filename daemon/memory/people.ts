/** What is a person's to do, and an agent's not. Pure. */
import { MemoryError } from '../../schema/errors.ts'

export function isAgent(actor: string): boolean {
  return actor.startsWith('agent:')
}

export function forPeople(message: string): MemoryError {
  return new MemoryError('REFUSED', message, { reason: 'permission', hint: 'use the command line' })
}
