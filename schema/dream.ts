import { z } from 'zod'
import { Cwd } from './values.ts'

/** After so many turns a model is asked no more. */
export const DREAM_TURNS = 30

const GateName = z.enum(['enabled', 'time', 'throttle', 'sessions', 'lock'])
const Facts = z.record(z.string(), z.union([z.string(), z.number()]))
const Gate = z.object({
  gate: GateName,
  facts: Facts.describe('The numbers it went by'),
  why: z.string().optional().describe('Why it is closed; absent when it is open'),
})

const DreamCheck = z
  .object({
    at: z.iso.datetime(),
    trigger: z.enum(['turn', 'cron', 'nightly', 'asked', 'person']),
    gate: GateName.optional().describe('The one that ended the check; absent when all were open'),
    gates: z.array(Gate).describe('In the order in which they were asked'),
  })
  .describe('Whether a dream could start, and by which numbers')
export type DreamCheck = z.infer<typeof DreamCheck>

export const DreamRequest = z.strictObject({
  cwd: Cwd,
  force: z.boolean().optional().describe('Whether it is time, and enough was said, is not asked'),
  explain: z.boolean().optional().describe('Only tell whether it would start'),
})

export const DreamBegun = z
  .union([
    z.object({ started: z.literal(true), jobId: z.string() }),
    z.object({
      started: z.literal(false),
      gate: GateName.optional().describe('The first that is closed; absent when it would start'),
      facts: Facts.describe('Of that gate, or of all of them'),
      why: z.string().optional(),
      gates: z.array(Gate),
      lastCheck: DreamCheck.optional().describe('The newest check, this one included'),
    }),
  ])
  .describe('A dream that begins, or why there is none')
export type DreamBegun = z.infer<typeof DreamBegun>

const Size = z.object({ lines: z.int(), bytes: z.int() })

const DreamTurn = z.object({
  turn: z.int(),
  text: z.string().describe('What the model said'),
  tools: z.array(z.string()).describe('What it asked for'),
  files: z.array(z.string()).describe('Memories it would change so far'),
})
export type DreamTurn = z.infer<typeof DreamTurn>

const Spent = z.object({
  calls: z.int(),
  input: z.int().describe('Tokens that came from no cache'),
  cacheRead: z.int(),
  cacheWrite: z.int(),
  output: z.int(),
  usd: z.number().optional().describe('Absent if the price is unknown'),
})
export type Spent = z.infer<typeof Spent>

/** Numbers only: names and words are in the journal, where a purge finds them. */
export const DreamFacts = z.object({
  mode: z.enum(['model', 'rules']).describe('rules: there was no model to ask'),
  sessions: z.int().describe('Since the dream before'),
  drifted: z.int().describe('Memories that name what the project does not have any more'),
  logs: z.int().describe('Daily logs that were distilled'),
  logsLeft: z.int().optional().describe('Daily logs that were too many for one dream: the next one goes on with them'),
  logsTo: z.iso.date().optional().describe('The day of the last log that was distilled, where others are left'),
  turns: z.int(),
  denials: z.int().describe('What the model asked for and may not do'),
  spent: Spent,
  created: z.int(),
  merged: z.int().describe('Gone, and what they said stands in another'),
  updated: z.int(),
  removed: z.int(),
  repairs: z.object({ dangling: z.int(), duplicate: z.int(), orphan: z.int(), long: z.int() }),
  index: z.object({ before: Size, after: Size }),
})
export type DreamFacts = z.infer<typeof DreamFacts>

const DreamOutcome = z
  .enum(['applied', 'nothing', 'review', 'failed', 'killed'])
  .describe('review: it waits for a person, as a whole; failed and killed: the directory is as it was')
export type DreamOutcome = z.infer<typeof DreamOutcome>

const DreamReport = DreamFacts.partial()
  .extend({
    runId: z.string(),
    trigger: DreamCheck.shape.trigger,
    beganAt: z.iso.datetime(),
    endedAt: z.iso.datetime(),
    outcome: DreamOutcome,
    why: z.string().optional().describe('Why it waits, or why nothing came of it'),
    files: z
      .array(z.object({ file: z.string(), op: z.enum(['create', 'update', 'merge', 'delete']), diff: z.string() }))
      .describe('What it changed, or would'),
    undone: z.boolean().describe('Everything it did was put back since'),
  })
  .describe('What came of a dream')
export type DreamReport = z.infer<typeof DreamReport>

const DreamLive = z
  .object({
    jobId: z.string(),
    beganAt: z.iso.datetime(),
    state: z.enum(['running', 'completed', 'failed', 'killed']),
    phase: z.enum(['starting', 'updating']).describe('updating: from the first change on'),
    sessions: z.int(),
    turns: z.array(DreamTurn).describe('The last 30'),
    turnCount: z.int(),
    files: z.array(z.string()),
    spent: Spent,
    why: z.string().optional(),
  })
  .describe('A dream as it goes on')
export type DreamLive = z.infer<typeof DreamLive>

export const DreamStatus = z
  .object({ live: DreamLive.optional(), last: DreamReport.optional(), lastCheck: DreamCheck.optional() })
  .describe('The dream of a project that goes on, and what came of the last one')
export type DreamStatus = z.infer<typeof DreamStatus>

export const DreamEvent = z.object({
  type: z.literal('dream'),
  at: z.iso.datetime(),
  project: z.string(),
  jobId: z.string(),
  state: DreamLive.shape.state,
  phase: DreamLive.shape.phase,
  turn: DreamTurn.optional().describe('The one that has just ended'),
  spent: Spent,
  why: z.string().optional(),
})
export type DreamEvent = z.infer<typeof DreamEvent>
