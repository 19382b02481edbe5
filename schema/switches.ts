import { z } from 'zod'

export const SwitchRequest = z.strictObject({
  cwd: z
    .string()
    .startsWith('/')
    .max(4096)
    .optional()
    .describe('Only this folder and what lies below it; absent: everywhere'),
})

export const Paused = z
  .object({ all: z.boolean(), projects: z.array(z.string()) })
  .describe('What is paused now: capture and recall are off there')
export type Paused = z.infer<typeof Paused>
