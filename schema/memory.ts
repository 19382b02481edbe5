import { z } from 'zod'
import type { RouteGroup } from './contract.ts'
import { Cwd, CwdQuery, Harness, MemoryType, Nothing, SessionId } from './values.ts'

export const MemoryFile = z.string().min(1).max(2048).describe('Within the memory directory, e.g. feedback_testing.md')
export const Trust = z.enum(['user', 'assistant', 'tool', 'untrusted'])
export type Trust = z.infer<typeof Trust>
const Hash = z.string().regex(/^[0-9a-f]{64}$/)
export const Skipped = z.literal('off').optional().describe('Memory is switched off here; everything else is empty')

const FileParams = z.strictObject({ file: MemoryFile })

const IndexFile = z.object({
  path: z.string(),
  content: z.string().describe('What goes into a context: within 200 lines and 25,000 bytes, with a warning if cut'),
  lines: z.int(),
  bytes: z.int(),
  truncated: z.boolean(),
})
export const MemoryIndex = IndexFile.extend({
  team: IndexFile.optional().describe("The team's index, where team memory is on and has one"),
  skipped: Skipped,
}).describe('The index of the project, MEMORY.md')
export type MemoryIndex = z.infer<typeof MemoryIndex>

export const Evidence = z.object({
  sessionId: z.string(),
  messageIds: z.array(z.string()),
  excerpt: z.string(),
  at: z.iso.datetime(),
})

const MemoryItem = z.object({
  file: z.string(),
  name: z.string().optional(),
  description: z.string().optional(),
  type: MemoryType.optional(),
  modifiedAt: z.iso.datetime(),
  hash: Hash.optional().describe('Absent for a file that is too large for a memory'),
  scope: z.enum(['private', 'team']),
  trust: Trust.optional(),
})
export type MemoryItem = z.infer<typeof MemoryItem>

const MemoriesQuery = z.strictObject({
  cwd: Cwd,
  type: MemoryType.optional(),
  q: z.string().min(1).max(1000).optional().describe('Only those that hold these words, best first, at most 50'),
})
export const MemoryList = z
  .object({
    dir: z.string(),
    items: z.array(MemoryItem).describe('Newest first, at most 200; best first where words are given'),
    older: z.int().describe('Memories there are besides'),
    skipped: Skipped,
  })
  .describe('The memories of the project')
export type MemoryList = z.infer<typeof MemoryList>

export const Memory = MemoryItem.extend({
  path: z.string(),
  hash: Hash,
  content: z.string(),
  evidence: z.array(Evidence),
}).describe('One memory')
export type Memory = z.infer<typeof Memory>

export const PutMemory = z.strictObject({
  content: z.string().max(1_000_000),
  ifHash: Hash.nullable().optional().describe('What must be there now; null: nothing'),
  reason: z.string().max(1000).optional(),
})
export const Written = z
  .object({
    file: z.string(),
    changeId: z.string().optional().describe('Absent when the change waits for review'),
    reviewId: z.string().optional().describe('The change waits for a person'),
    hash: Hash.optional(),
    created: z.boolean(),
    redacted: z.array(z.string()).describe('Kinds of credentials that were taken out'),
    advice: z.array(z.string()),
  })
  .describe('What became of a write')
export type Written = z.infer<typeof Written>

const flag = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .optional()
export const ForgetQuery = z.strictObject({
  cwd: Cwd,
  reject: flag.describe('Never take it in again'),
  purge: flag.describe('Keep nothing of it: not in the journal, not in a backup; only for people, and for good'),
  ifHash: Hash.optional(),
})
export const Forgotten = z
  .object({
    changeId: z.string().optional(),
    reviewId: z.string().optional(),
    tombstoneId: z.string().optional(),
    purged: z
      .object({
        versions: z.int().describe('Texts that were taken out of the journal'),
        backups: z.int().describe('Copies of the journal that were deleted; a new backup is made'),
        deleted: z.array(z.string()).describe('Which: those that held it or could not be read'),
      })
      .optional(),
  })
  .describe('What became of a memory that was forgotten')
export type Forgotten = z.infer<typeof Forgotten>

export const Remembered = z
  .object({
    file: z.string(),
    changeId: z.string().optional(),
    reviewId: z.string().optional(),
    type: MemoryType,
    action: z.enum(['created', 'updated']),
    redacted: z.array(z.string()),
  })
  .describe('Where something was remembered')
export type Remembered = z.infer<typeof Remembered>

export const AgentScope = z
  .enum(['user', 'project', 'local'])
  .describe('Whom it serves: every project, this one, or this one here')
export type AgentScope = z.infer<typeof AgentScope>
export type Agent = { type: string; scope: AgentScope }

export const AgentMemory = z
  .object({
    text: z.string().describe("For the agent's system prompt, with the whole index"),
    dir: z.string(),
    skipped: Skipped,
  })
  .describe("A sub-agent's own memory")
export type AgentMemory = z.infer<typeof AgentMemory>

const Instruction = z.object({
  kind: z.enum(['managed', 'user', 'project', 'local', 'memory']),
  path: z.string(),
  content: z.string(),
  warning: z.string().optional(),
})

export const MemoryPrompt = z
  .object({ text: z.string().describe('For a system prompt: how to use memory, then the index'), skipped: Skipped })
  .describe('What a harness tells its model about memory')
export type MemoryPrompt = z.infer<typeof MemoryPrompt>

export const memoryRoutes = {
  memoryIndex: {
    summary: 'The index of the memories of the project, ready for a context',
    query: CwdQuery,
    answer: MemoryIndex,
    errors: ['REFUSED'],
  },
  memoryPrompt: {
    summary: 'What a harness tells its model about memory; the same bytes for the whole of a session',
    query: z.strictObject({
      cwd: Cwd,
      sessionId: SessionId.optional().describe('Given the same bytes each time, until the session is renewed'),
      harness: Harness,
    }),
    answer: MemoryPrompt,
    errors: ['REFUSED'],
    kept: ['cwd', 'sessionId', 'harness'],
  },
  renewPrompt: {
    summary: 'The session was cleared or compacted: its next prompt is made anew',
    query: z.strictObject({ sessionId: SessionId, harness: Harness }),
    answer: Nothing,
  },
  memories: { summary: 'The memories of the project', query: MemoriesQuery, answer: MemoryList, errors: ['REFUSED'] },
  memory: {
    summary: 'One memory, as it is or as it was',
    params: FileParams,
    query: z.strictObject({ cwd: Cwd, at: z.iso.datetime({ offset: true }).optional().describe('As it was then') }),
    answer: Memory,
    errors: ['REFUSED'],
  },
  putMemory: {
    summary: 'Write a memory',
    params: FileParams,
    query: CwdQuery,
    body: PutMemory,
    answer: Written,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
    kept: ['cwd'],
  },
  forget: {
    summary: 'Delete a memory: for now, for good (reject), or without a trace (purge)',
    params: FileParams,
    query: ForgetQuery,
    answer: Forgotten,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
    kept: ['cwd'],
  },
  remember: {
    summary: 'Keep something as a memory',
    body: z.strictObject({
      cwd: Cwd,
      text: z.string().min(1).max(60_000),
      type: MemoryType.optional().describe('Found by rules when not given'),
    }),
    answer: Remembered,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
    kept: ['cwd'],
  },
  instructions: {
    summary: 'The instruction files that apply in a folder',
    query: CwdQuery,
    answer: z
      .object({ items: z.array(Instruction) })
      .describe('Instruction files that apply here, lowest priority first, then the memory index'),
    errors: ['REFUSED'],
  },
} satisfies RouteGroup
