import { it } from 'vitest'
import { keepHarmless, keepNone } from '../support/secrets-at-rest.ts'

it('keeps no byte of 672 credentials, every kind by every way in', { timeout: 300_000 }, () => keepNone(672))

it('refuses or alters at most one in a hundred harmless look-alikes', () => keepHarmless(500))
