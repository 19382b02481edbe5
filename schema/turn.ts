import { z } from 'zod'
import { Cwd } from './memory.ts'
import { AbsolutePath } from './path.ts'
import { Harness, SessionId } from './session.ts'

/** What a harness sends so that a model can go on from the harness's own conversation, and from what a server has cached of it. */
const HandedOver = z.strictObject({
  params: z
    .looseObject({ model: z.string().min(1).max(200), messages: z.array(z.looseObject({})).min(1).max(100_000) })
    .describe('The parameters of its last request, byte for byte, with the answer to it as the last message'),
  endpoint: z.url({ protocol: /^https?$/ }).describe('Where it asks'),
  fingerprint: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .describe('The first 16 hex digits of the SHA-256 of its key'),
})

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
  prefix: HandedOver.optional().describe(
    'Used with `extraction.prefix: harness` where endpoint and key are those of the daemon; kept in memory only',
  ),
})
export type TurnRequest = z.infer<typeof TurnRequest>

export const TurnPushed = z
  .object({
    jobIds: z.array(z.string()).describe('What is done about it, as far as that is known within a second'),
    prefixSkipped: z.string().optional().describe('Why the prefix is not used'),
  })
  .describe('The turn is on disk, and will be read')
export type TurnPushed = z.infer<typeof TurnPushed>
