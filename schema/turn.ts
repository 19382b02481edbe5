import { z } from 'zod'
import { Cwd } from './memory.ts'
import { AbsolutePath } from './path.ts'
import { Harness, SessionId } from './session.ts'

export const TurnRequest = z.strictObject({
  cwd: Cwd,
  harness: Harness,
  sessionId: SessionId,
  turnId: z.string().min(1).max(512).describe('A turn that was pushed before is not taken again'),
  messages: z
    .array(z.looseObject({}))
    .max(10_000)
    .optional()
    .describe('All of the turn, in order: in the generic form, or as a model API has them, with an id or without'),
  transcriptPath: AbsolutePath.optional().describe(
    'Where the harness writes the session itself: then it is read from there, and no message is kept',
  ),
})
export type TurnRequest = z.infer<typeof TurnRequest>

export const TurnPushed = z
  .object({ jobIds: z.array(z.string()).describe('What is to be done about it; nothing so far') })
  .describe('The turn is on disk, and will be read')
export type TurnPushed = z.infer<typeof TurnPushed>
