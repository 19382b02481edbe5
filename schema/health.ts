import { z } from 'zod'

export const Health = z
  .object({ ok: z.literal(true), version: z.string(), pid: z.int() })
  .describe('The daemon answers. Nothing is looked up for this.')
