import { it } from 'vitest'
import { keepNoneOfTranscripts } from '../support/transcript-secrets-at-rest.ts'

it('keeps no byte of five hundred credentials that stand in transcripts', { timeout: 300_000 }, () =>
  keepNoneOfTranscripts(500),
)
