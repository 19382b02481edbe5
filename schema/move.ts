import { z } from 'zod'
import { AbsolutePath } from './path.ts'

export const MoveRequest = z.strictObject({
  from: AbsolutePath.describe('Where the project was; nothing stands there any more'),
  to: AbsolutePath.describe('Where it is now'),
})

export const Moved = z
  .object({
    root: z.string(),
    dir: z.string().describe('The memory directory it has now'),
    how: z
      .enum(['whole', 'merged', 'followed'])
      .describe('The directory itself was moved, its memories joined others, or no file had to move'),
    files: z.array(z.string()).describe('Memories that are new there, under the names they have there'),
    skipped: z.array(z.string()).describe('There already, to the byte'),
    renamed: z.array(z.object({ file: z.string(), as: z.string() })),
    stayed: z
      .array(z.object({ file: z.string(), reason: z.string() }))
      .describe('What could not be brought and is where it was'),
    runId: z.string().optional(),
  })
  .describe('What became of a move')
export type Moved = z.infer<typeof Moved>
