import { z } from 'zod'
import { Budget } from './cost.ts'
import { JobCounts } from './job.ts'
import { Paused } from './switches.ts'

/** The names of what can be wrong; each arrives with the part that may raise it. */
export const Condition = z.object({
  code: z.enum(['config', 'disk', 'housekeeping', 'key', 'notes', 'socket', 'transcripts', 'watch']),
  message: z.string().describe('What is wrong, and what to do about it'),
  since: z.iso.datetime(),
})
export type Condition = z.infer<typeof Condition>

export const Failure = z.object({ at: z.iso.datetime(), code: z.string(), message: z.string() })
export type Failure = z.infer<typeof Failure>

const TranscriptRoot = z.object({
  path: z.string(),
  harness: z.string(),
  state: z
    .enum(['watching', 'polling', 'missing'])
    .describe('polling: cannot be watched as a whole, so that only sweeps find what is new'),
})

const IngestState = z.object({
  lagBytes: z.int().describe('Of transcripts, still to be read'),
  skipped: z.record(z.string(), z.int()).describe('Lines that could not be used, by the reason'),
})

export const Status = z
  .object({
    mode: z.enum(['online', 'offline']).describe('Whether a model may be called'),
    state: z.enum(['ready', 'degraded']),
    reasons: z.array(Condition).describe('Why the state is degraded; empty when ready'),
    version: z.string(),
    protocol: z.int(),
    pid: z.int(),
    startedAt: z.iso.datetime(),
    socket: z.string(),
    stateDir: z.string(),
    configFile: z.string(),
    paused: Paused,
    projects: z
      .array(
        z.object({
          root: z.string(),
          memoryDir: z.string(),
          lastDreamAt: z.iso.datetime().optional().describe('When its memories were last put in order, by anybody'),
          sharedWith: z
            .array(z.string())
            .optional()
            .describe('Other projects whose memories are in the same directory'),
        }),
      )
      .describe('Projects with memories'),
    roots: z.array(TranscriptRoot).describe('Where transcripts are looked for'),
    ingest: IngestState,
    jobs: JobCounts,
    harnesses: z
      .array(
        z.object({
          name: z.string(),
          connected: z.boolean().describe('Whether its settings have our hooks'),
          lastHookAt: z.iso.datetime().optional().describe('When it last ran one'),
        }),
      )
      .describe('Programs that can be connected'),
    budget: Budget,
    errors: z.array(Failure).describe('The last failures nobody was waiting for, newest first'),
  })
  .describe('How the daemon is doing')
export type Status = z.infer<typeof Status>
