import { it } from 'vitest'
import { keepHarmless, keepNone } from '../support/secrets-at-rest.ts'
import { keepNoneOfTranscripts } from '../support/transcript-secrets-at-rest.ts'

it('keeps no byte of a thousand credentials, whichever way they come in', () => keepNone(1_000))
it('keeps no byte of a thousand credentials that stand in transcripts', () => keepNoneOfTranscripts(1_000))
it('refuses or alters at most one in a hundred of a thousand harmless look-alikes', () => keepHarmless(1_000))
