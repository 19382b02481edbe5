/** Transcripts that are brought: whole folders of them. */
import type { ImportBegun } from '../../../schema/import.ts'
import type { Handlers } from '../server.ts'

type Deps = { begin(dir: string, harness: string | undefined): ImportBegun }

export function transcriptRoutes({ begin }: Deps): Pick<Handlers, 'importTranscripts'> {
  return { importTranscripts: ({ body }) => begin(body.dir, body.harness) }
}
