/** The context service. */
import {
  Compacted,
  CompactRequest,
  Measured,
  MeasureRequest,
  Microcompacted,
  MicrocompactRequest,
  ToolResultParams,
  ToolResultPiece,
  ToolResultQuery,
  ToolResultsKept,
  ToolResultsRequest,
} from '../context.ts'
import type { RouteGroup } from '../route.ts'
import { routeTable } from '../route-table.ts'

export const contextRoutes = {
  measureContext: {
    ...routeTable.measureContext,
    summary: 'How full a context is, and what that means',
    body: MeasureRequest,
    answer: Measured,
    errors: [],
  },
  microcompact: {
    ...routeTable.microcompact,
    summary: 'Clear old results of tools, without a model',
    body: MicrocompactRequest,
    answer: Microcompacted,
    errors: [],
  },
  compact: {
    ...routeTable.compact,
    summary: 'Make a conversation fit again: from its notes, by a model, or without one',
    body: CompactRequest,
    answer: Compacted,
    errors: ['CONFLICT'],
  },
  keepToolResults: {
    ...routeTable.keepToolResults,
    summary: 'Results of tools: long ones are kept in files, and what goes into the context is decided once',
    body: ToolResultsRequest,
    answer: ToolResultsKept,
    errors: [],
  },
  toolResult: {
    ...routeTable.toolResult,
    summary: 'A result that is kept, or a part of it',
    params: ToolResultParams,
    query: ToolResultQuery,
    answer: ToolResultPiece,
    errors: [],
  },
} as const satisfies RouteGroup
