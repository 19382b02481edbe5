import { z } from 'zod'
import { Paused } from './switches.ts'

const Reason = z.object({
  code: z.string().describe('Stable name of the condition, e.g. "config" or "backup"'),
  message: z.string().describe('What is wrong, and what to do about it'),
  since: z.iso.datetime(),
})

export const Status = z
  .object({
    mode: z.enum(['online', 'offline']).describe('Whether a model may be called'),
    state: z.enum(['ready', 'degraded']),
    reasons: z.array(Reason).describe('Why the state is degraded; empty when ready'),
    version: z.string(),
    protocol: z.int(),
    pid: z.int(),
    startedAt: z.iso.datetime(),
    socket: z.string(),
    stateDir: z.string(),
    configFile: z.string(),
    paused: Paused,
    errors: z
      .array(z.object({ at: z.iso.datetime(), code: z.string(), message: z.string() }))
      .describe('The last failures nobody was waiting for, newest first'),
  })
  .describe('How the daemon is doing')
export type Status = z.infer<typeof Status>
