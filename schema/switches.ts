import { z } from 'zod'
import { AbsolutePath } from './path.ts'

export const SwitchRequest = z.strictObject({
  cwd: AbsolutePath.optional().describe('Only this folder and what lies below it; absent: everywhere'),
})

export const Paused = z
  .object({ all: z.boolean(), projects: z.array(z.string()) })
  .describe('What is paused now: capture and recall are off there')
export type Paused = z.infer<typeof Paused>
