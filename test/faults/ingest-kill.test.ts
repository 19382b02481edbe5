import { it } from 'vitest'
import { killWhileReading } from '../support/ingest-kills.ts'

it('killed at any moment of reading, it has each message once in the end', () => killWhileReading(3))
