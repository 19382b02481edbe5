import { it } from 'vitest'
import { killWhileReading } from '../support/ingest-kills.ts'

it('has each message once in the end of 12 kills while it reads', () => killWhileReading(12))
