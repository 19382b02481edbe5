import { z } from 'zod'

export const InstructionList = z
  .object({
    items: z.array(
      z.object({
        kind: z.enum(['managed', 'user', 'project', 'local', 'memory']),
        path: z.string(),
        content: z.string(),
        warning: z.string().optional(),
      }),
    ),
  })
  .describe('Instruction files that apply here, lowest priority first, then the memory index')
