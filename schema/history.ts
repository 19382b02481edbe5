import { z } from 'zod'
import type { RouteGroup } from './contract.ts'
import { Evidence, MemoryFile } from './memory.ts'
import { Amount, Cwd, Nothing, RowId } from './values.ts'

const Op = z.enum(['create', 'update', 'delete', 'undo', 'refused'])

const ChangeItem = z.object({
  id: z.string(),
  at: z.iso.datetime(),
  file: z.string(),
  op: Op,
  actor: z.string().describe('user, external, or agent:<who>'),
  reason: z.string(),
  runId: z.string().optional(),
  beforeHash: z.string().nullable(),
  afterHash: z.string().nullable(),
  evidence: z.array(Evidence),
  undoable: z.boolean(),
  purged: z.literal(true).optional().describe('Its texts were purged: what it was about is known, not what it said'),
})
export type ChangeItem = z.infer<typeof ChangeItem>

const ChangeParams = z.strictObject({ id: RowId })
const RunParams = z.strictObject({ id: z.string().regex(/^[A-Za-z0-9._-]{1,128}$/) })

export const ChangeList = z
  .object({ items: z.array(ChangeItem), next: z.string().optional() })
  .describe('What happened to the memories, newest first')
export type ChangeList = z.infer<typeof ChangeList>

export const Change = ChangeItem.extend({ before: z.string().nullable(), after: z.string().nullable() }).describe(
  'One change with both texts; credentials are taken out',
)
export type Change = z.infer<typeof Change>

export const Run = z
  .object({
    id: z.string(),
    at: z.iso.datetime(),
    actor: z.string(),
    created: z.array(z.string()),
    updated: z.array(z.string()),
    deleted: z.array(z.string()),
    refused: z.array(z.string()),
    changes: z.array(ChangeItem),
    undone: z.boolean().describe('Everything it did was put back since'),
  })
  .describe('The report of a run: which memories it changed, and how')
export type Run = z.infer<typeof Run>

const Undone = z
  .object({
    changeIds: z.array(z.string()),
    runId: z.string().optional().describe('Of what undid a run: it can be undone as one'),
  })
  .describe('The changes that undid it')

const Tombstone = z.object({ id: z.string(), at: z.iso.datetime(), file: z.string(), excerpt: z.string() })

const Review = z.object({
  id: z.string(),
  at: z.iso.datetime(),
  runId: z.string().optional(),
  file: z.string(),
  op: z.enum(['create', 'update', 'delete']),
  actor: z.string(),
  reason: z.string(),
  diff: z.string(),
})

export const Decided = z
  .object({ changeId: z.string().optional(), tombstoneId: z.string().optional() })
  .describe('What became of a reviewed change')
export type Decided = z.infer<typeof Decided>

export const historyRoutes = {
  changes: {
    summary: 'What happened to the memories of the project',
    query: z.strictObject({
      cwd: Cwd,
      file: MemoryFile.optional(),
      limit: Amount.optional().describe('At most 999; 100 by default'),
      after: RowId.optional().describe('Go on after this id'),
    }),
    answer: ChangeList,
    errors: ['REFUSED'],
  },
  change: { summary: 'One change, with what was before and after it', params: ChangeParams, answer: Change },
  undoChange: {
    summary: 'Put back what was before a change',
    params: ChangeParams,
    answer: Undone,
    errors: ['CONFLICT', 'REFUSED'],
  },
  run: { summary: 'What a run did', params: RunParams, answer: Run },
  undoRun: {
    summary: 'Put back what was before all changes of a run',
    params: RunParams,
    answer: Undone,
    errors: ['CONFLICT', 'REFUSED'],
  },
  tombstones: {
    summary: 'What was rejected for good',
    answer: z.object({ items: z.array(Tombstone) }).describe('What was rejected for good, newest first'),
  },
  liftTombstone: {
    summary: 'Let something that was rejected be said again',
    params: ChangeParams,
    answer: Nothing,
    errors: ['REFUSED'],
  },
  reviews: {
    summary: 'Changes that wait for a person',
    answer: z.object({ items: z.array(Review) }).describe('Changes of models that wait for a person'),
  },
  decideReview: {
    summary: 'Approve or reject a change that waits',
    params: ChangeParams,
    body: z.strictObject({ decision: z.enum(['approve', 'reject']) }),
    answer: Decided,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
  },
} satisfies RouteGroup
