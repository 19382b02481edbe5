/** The types of events: the daemon publishes them unchecked and never loads this file. */
import { z } from 'zod'
import type { RouteGroup } from './contract.ts'
import { DreamEvent } from './dream.ts'
import { JobEvent } from './job.ts'
import { MailEvent } from './mail.ts'

const StatusEvent = z.object({
  type: z.literal('status'),
  at: z.iso.datetime(),
  state: z.enum(['ready', 'degraded']),
  change: z
    .enum(['connected', 'condition', 'settings', 'paused', 'mode'])
    .describe('What happened; connected opens a stream'),
})
export type StatusEvent = z.infer<typeof StatusEvent>

const SavedEvent = z.object({
  type: z.literal('saved'),
  at: z.iso.datetime(),
  dir: z.string().describe('The memory directory'),
  files: z.array(z.string()),
  actor: z.string().describe('user, external, or agent:<who>'),
})

const TurnEvent = z.object({
  type: z.literal('turn'),
  at: z.iso.datetime(),
  harness: z.string(),
  sessionId: z.string(),
  end: z.enum(['final', 'aborted']),
  cwd: z.string().optional(),
  project: z.string().optional(),
})

const Event = z
  .discriminatedUnion('type', [StatusEvent, SavedEvent, TurnEvent, JobEvent, DreamEvent, MailEvent])
  .describe('One server-sent event: `type` is its event name, everything else its data')
export type Event = z.infer<typeof Event>

export const eventRoutes = { events: { summary: 'What happens, as it happens', answer: Event } } satisfies RouteGroup
