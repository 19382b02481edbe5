import { z } from 'zod'

export const SwitchRequest = z.strictObject({
  cwd: z
    .string()
    .startsWith('/')
    .regex(/^[^\0\p{Cs}]*$/u, 'expected a path without NUL and broken characters')
    .max(4096)
    .optional()
    .describe('Only this folder and what lies below it; absent: everywhere'),
})

export const Paused = z
  .object({ all: z.boolean(), projects: z.array(z.string()) })
  .describe('What is paused now: capture and recall are off there')
export type Paused = z.infer<typeof Paused>
