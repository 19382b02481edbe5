/** Memories of a project, and what a harness is told about them. */
import { Nothing } from '../change.ts'
import { ExportLine, Imported } from '../export.ts'
import { InstructionList } from '../instruction.ts'
import {
  CwdQuery,
  FileParams,
  ForgetQuery,
  Forgotten,
  MemoriesQuery,
  Memory,
  MemoryIndex,
  MemoryList,
  MemoryQuery,
  PutMemory,
  Remembered,
  RememberRequest,
  Written,
} from '../memory.ts'
import { MemoryPrompt, PromptQuery, RenewQuery } from '../prompt.ts'
import type { RouteGroup } from '../route.ts'
import { routeTable } from '../route-table.ts'

export const memoryRoutes = {
  memoryIndex: {
    ...routeTable.memoryIndex,
    summary: 'The index of the memories of the project, ready for a context',
    query: CwdQuery,
    answer: MemoryIndex,
    errors: ['REFUSED'],
  },
  memoryPrompt: {
    ...routeTable.memoryPrompt,
    summary: 'What a harness tells its model about memory; the same bytes for the whole of a session',
    query: PromptQuery,
    answer: MemoryPrompt,
    errors: ['REFUSED'],
  },
  renewPrompt: {
    ...routeTable.renewPrompt,
    summary: 'The session was cleared or compacted: its next prompt is made anew',
    query: RenewQuery,
    answer: Nothing,
    errors: [],
  },
  memories: {
    ...routeTable.memories,
    summary: 'The memories of the project',
    query: MemoriesQuery,
    answer: MemoryList,
    errors: ['REFUSED'],
  },
  memory: {
    ...routeTable.memory,
    summary: 'One memory, as it is or as it was',
    params: FileParams,
    query: MemoryQuery,
    answer: Memory,
    errors: ['REFUSED'],
  },
  putMemory: {
    ...routeTable.putMemory,
    summary: 'Write a memory',
    params: FileParams,
    query: CwdQuery,
    body: PutMemory,
    answer: Written,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
  },
  forget: {
    ...routeTable.forget,
    summary: 'Delete a memory: for now, for good (reject), or without a trace (purge)',
    params: FileParams,
    query: ForgetQuery,
    answer: Forgotten,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
  },
  remember: {
    ...routeTable.remember,
    summary: 'Keep something as a memory',
    body: RememberRequest,
    answer: Remembered,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
  },
  // Not beside the export: which file has a route goes by what its address begins with.
  importMemories: {
    ...routeTable.importMemories,
    summary: 'Take in a file that was exported, as one run; what is there is never written over',
    query: CwdQuery,
    line: ExportLine,
    answer: Imported,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
  },
  instructions: {
    ...routeTable.instructions,
    summary: 'The instruction files that apply in a folder',
    query: CwdQuery,
    answer: InstructionList,
    errors: ['REFUSED'],
  },
} as const satisfies RouteGroup
