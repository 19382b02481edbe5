/** Memories that move: whole sets, and projects. */
import { ExportLine } from '../export.ts'
import { CwdQuery } from '../memory.ts'
import { Moved, MoveRequest } from '../move.ts'
import type { RouteGroup } from '../route.ts'
import { routeTable } from '../route-table.ts'

export const carryingRoutes = {
  exportMemories: {
    ...routeTable.exportMemories,
    summary: 'The memories of the project with their journal, as one file',
    query: CwdQuery,
    answer: ExportLine,
    errors: ['CONFLICT', 'REFUSED'],
  },
  moveProject: {
    ...routeTable.moveProject,
    summary: 'Let memories follow a project that was moved',
    body: MoveRequest,
    answer: Moved,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
  },
} as const satisfies RouteGroup
