import { z } from 'zod'
import type { RouteGroup } from './contract.ts'
import { AbsolutePath } from './values.ts'

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

const SwitchRequest = z.strictObject({
  cwd: AbsolutePath.optional().describe('Only this folder and what lies below it; absent: everywhere'),
})

export const Paused = z
  .object({ all: z.boolean(), projects: z.array(z.string()) })
  .describe('What is paused now: capture and recall are off there')
export type Paused = z.infer<typeof Paused>

const JobCounts = z
  .object({ queued: z.int(), waiting: z.int(), running: z.int(), failed: z.int() })
  .describe('failed: and nothing newer of its kind and key')
export type JobCounts = z.infer<typeof JobCounts>

export const Budget = z
  .object({
    usd: z.number().describe('Dollars of today, with the most that calls still on their way can cost'),
    capUsd: z.number().describe('0: no model at all'),
    tokens: z.int().describe('Input tokens of today that came from no cache'),
    capTokens: z.int().describe('0: no model at all'),
  })
  .describe("The day's money; days are local")
export type Budget = z.infer<typeof Budget>

const Project = z.object({
  root: z.string(),
  memoryDir: z.string(),
  lastDreamAt: z.iso.datetime().optional().describe('When its memories were last consolidated, by any program'),
  sharedWith: z.array(z.string()).optional().describe('Other projects whose memories are in the same directory'),
})
const KnownHarness = z.object({
  name: z.string(),
  connected: z.boolean().describe('Whether its settings have our hooks'),
  lastHookAt: z.iso.datetime().optional().describe('When it last ran one'),
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
    projects: z.array(Project).describe('Projects with memories'),
    roots: z.array(TranscriptRoot).describe('Where transcripts are looked for'),
    ingest: z.object({
      lagBytes: z.int().describe('Of transcripts, still to be read'),
      skipped: z.record(z.string(), z.int()).describe('Lines that could not be used, by the reason'),
    }),
    jobs: JobCounts,
    harnesses: z.array(KnownHarness).describe('Programs that can be connected'),
    budget: Budget,
    errors: z.array(Failure).describe('The last failures of background work, newest first'),
  })
  .describe('How the daemon is doing')
export type Status = z.infer<typeof Status>

const Health = z
  .object({ ok: z.literal(true), version: z.string(), pid: z.int() })
  .describe('The daemon answers. Nothing is looked up for this.')

export const processRoutes = {
  health: { summary: 'Whether the daemon answers', answer: Health },
  status: { summary: 'How the daemon is doing', answer: Status },
  openapi: { summary: 'This interface as an OpenAPI 3.1 document', answer: z.looseObject({ openapi: z.string() }) },
  pause: {
    summary: 'Switch capture and recall off, everywhere or below one folder',
    body: SwitchRequest,
    answer: Paused,
    kept: ['cwd'],
    errors: ['REFUSED'],
  },
  resume: { summary: 'Switch capture and recall on again', body: SwitchRequest, answer: Paused, errors: ['CONFLICT'] },
} satisfies RouteGroup
