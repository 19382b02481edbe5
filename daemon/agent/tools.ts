/**
 * The tools a model is told of. One list for every job, in the same bytes: tools are part of what a server caches by, so
 * none is left out where it would be denied. Names and inputs are those that harnesses use, because a fork of a harness's
 * own conversation knows only those.
 */
import { z } from 'zod'
import type { ToolSpec } from '../models/wire.ts'
import { type Denied, quoted } from './tool-output.ts'

const path = z.string().min(1).max(4096)
const evidence = z
  .array(z.string().min(1).max(200))
  .max(100)
  .optional()
  .describe('Ids of the messages this rests on, as they stand in the transcript')
const reason = z.string().max(1000).optional().describe('Why, in one sentence')

const ReadInput = z.object({
  file_path: path.describe('Absolute, or relative to the memory directory'),
  offset: z.int().min(1).max(10_000_000).optional().describe('The first line, counted from 1'),
  limit: z.int().min(1).max(2_000).optional().describe('How many lines'),
})
const GrepInput = z.object({
  pattern: z.string().min(1).max(1_000).describe('An extended regular expression'),
  path: path.optional().describe('A file or folder; the memory directory when left out'),
  glob: z.string().min(1).max(500).optional().describe('Only files whose path within the folder matches'),
  output_mode: z.enum(['content', 'files_with_matches', 'count']).optional(),
  '-i': z.boolean().optional().describe('Upper and lower case are the same'),
  head_limit: z.int().min(1).max(500).optional().describe('How many lines of output'),
})
const GlobInput = z.object({
  pattern: z.string().min(1).max(500),
  path: path.optional().describe('A folder; the memory directory when left out'),
})
const BashInput = z.object({
  command: z
    .string()
    .min(1)
    .max(4_000)
    .describe('One of ls find cat stat wc head tail grep, without a shell around it'),
  description: z.string().optional(),
})
const EditInput = z.object({
  file_path: path,
  old_string: z.string().min(1).max(200_000),
  new_string: z.string().max(200_000),
  replace_all: z.boolean().optional(),
  evidence,
  reason,
})
const WriteInput = z.object({
  file_path: path,
  content: z.string().max(1_000_000).describe('The whole file; an empty one takes the memory away'),
  evidence,
  reason,
})

const described = {
  Read: { input: ReadInput, description: 'Reads a file of the memory directory, the transcripts or the project.' },
  Grep: { input: GrepInput, description: 'Finds lines in the files of a folder by a regular expression.' },
  Glob: { input: GlobInput, description: 'Finds files by their path. ** crosses folders.' },
  Bash: {
    input: BashInput,
    description:
      'Runs one read-only command (ls find cat stat wc head tail grep). No pipes, redirections, variables or expansion.',
  },
  Edit: {
    input: EditInput,
    description: 'Replaces text in a memory that was read before. The old text must stand there exactly once.',
  },
  Write: {
    input: WriteInput,
    description: 'Writes a whole memory. One that exists must have been read before; empty content removes it.',
  },
} as const

type Tools = typeof described
export type ToolName = keyof Tools
export type ToolCall = { [N in ToolName]: { tool: N; input: z.infer<Tools[N]['input']> } }[ToolName]

export function isTool(name: string): name is ToolName {
  return Object.hasOwn(described, name)
}

export function parseInput(tool: ToolName, input: unknown): ToolCall | Denied {
  const { data, error } = described[tool].input.safeParse(input)
  if (!error) return { tool, input: data } as ToolCall
  const [issue] = error.issues
  const where = issue?.path.join('.')
  const at = where ? ` at ${quoted(where)}` : ''
  return { denied: `the input of ${tool} is not as it should be${at}: ${issue?.message}` }
}

let specs: ToolSpec[] | undefined

/** As a model is told of them. Made once: it takes a millisecond. */
export function toolSpecs(): ToolSpec[] {
  specs ??= Object.entries(described).map(([name, { description, input }]) => {
    const { $schema: _, ...inputSchema } = z.toJSONSchema(input, { io: 'input' })
    return { name, description, inputSchema }
  })
  return specs
}
