import { z } from 'zod'
import type { RouteGroup } from './contract.ts'
import { AbsolutePath, CwdQuery } from './values.ts'

/** Raised when an older daemon could not read the file; it refuses a number that it does not know. */
export const EXPORT_VERSION = 1

const Hash = z.string().regex(/^[0-9a-f]{64}$/, 'expected a SHA-256 in hex')
const At = z.iso.datetime()
const File = z.string().min(1).max(2048)

const HeaderLine = z.strictObject({
  kind: z.literal('header'),
  format: z.literal('memoryd-export'),
  version: z.literal(EXPORT_VERSION),
  at: At,
  root: z.string().describe('The project it was made of'),
})
const FileLine = z.strictObject({
  kind: z.literal('file'),
  file: File,
  content: z.string(),
  encoding: z.literal('base64').optional().describe('Given where the bytes are no text'),
})
const HistoryLine = z
  .looseObject({ kind: z.enum(['text', 'change']) })
  .describe('Of a history, which earlier versions exported as well; it is read over')
const TombstoneLine = z.strictObject({
  kind: z.literal('tombstone'),
  at: At,
  file: File,
  excerpt: z.string().max(10_000),
  values: z.array(Hash),
})
const EndLine = z.strictObject({
  kind: z.literal('end'),
  files: z.int(),
  texts: z.int().describe('0: the history stays where it is'),
  changes: z.int().describe('0 as well'),
  tombstones: z.int(),
  left: z.array(z.strictObject({ file: z.string(), reason: z.string() })).describe('Files that could not be read'),
  sha256: Hash.describe('Of all the bytes before this line'),
})

export const ExportLine = z
  .discriminatedUnion('kind', [HeaderLine, FileLine, HistoryLine, TombstoneLine, EndLine])
  .describe('One line of an export; the header comes first, the end last')
export type ExportLine = z.infer<typeof ExportLine>
export type TombstoneLine = z.infer<typeof TombstoneLine>

export const Imported = z
  .object({
    runId: z.string().optional().describe('Undoing this run takes everything back; absent when nothing was written'),
    created: z.array(z.string()),
    skipped: z.array(z.string()).describe('There already, to the byte'),
    renamed: z
      .array(z.object({ file: z.string(), as: z.string() }))
      .describe('Created under another name: what has the name says something else'),
    refused: z.array(z.object({ file: z.string(), reason: z.string() })),
    changes: z.int().describe('Changes of a history in the file that were left out'),
    tombstones: z.int(),
  })
  .describe('What became of an import')
export type Imported = z.infer<typeof Imported>

export const Moved = z
  .object({
    root: z.string(),
    dir: z.string().describe('The memory directory it has now'),
    how: z.enum(['whole', 'followed']).describe('The directory itself was moved, or no file had to move'),
    files: z.array(z.string()).describe('Memories and indexes that moved'),
  })
  .describe('What became of a move')
export type Moved = z.infer<typeof Moved>

export const transferRoutes = {
  importMemories: {
    summary: 'Take in a file that was exported, as one run; what is there is never written over',
    query: CwdQuery,
    line: ExportLine,
    answer: Imported,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
    kept: ['cwd'],
  },
  exportMemories: {
    summary: 'The memories and rejections of the project, as one file',
    query: CwdQuery,
    answer: ExportLine,
    errors: ['CONFLICT', 'REFUSED'],
  },
  moveProject: {
    summary: 'Let memories follow a project that was moved; its new place must have none',
    body: z.strictObject({
      from: AbsolutePath.describe('Where the project was; nothing stands there any more'),
      to: AbsolutePath.describe('Where it is now'),
    }),
    answer: Moved,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
    kept: ['to'],
  },
} satisfies RouteGroup
