/** What became of memories, and how to take it back. */
import {
  Change,
  ChangeList,
  ChangeParams,
  ChangesQuery,
  Decided,
  Decision,
  Nothing,
  ReviewList,
  Run,
  RunParams,
  TombstoneList,
  Undone,
} from '../change.ts'
import type { RouteGroup } from '../route.ts'
import { routeTable } from '../route-table.ts'

export const changeRoutes = {
  changes: {
    ...routeTable.changes,
    summary: 'What happened to the memories of the project',
    query: ChangesQuery,
    answer: ChangeList,
    errors: ['REFUSED'],
  },
  change: {
    ...routeTable.change,
    summary: 'One change, with what was before and after it',
    params: ChangeParams,
    answer: Change,
    errors: [],
  },
  undoChange: {
    ...routeTable.undoChange,
    summary: 'Put back what was before a change',
    params: ChangeParams,
    answer: Undone,
    errors: ['CONFLICT', 'REFUSED'],
  },
  run: {
    ...routeTable.run,
    summary: 'What a run did',
    params: RunParams,
    answer: Run,
    errors: [],
  },
  undoRun: {
    ...routeTable.undoRun,
    summary: 'Put back what was before all changes of a run',
    params: RunParams,
    answer: Undone,
    errors: ['CONFLICT', 'REFUSED'],
  },
  tombstones: { ...routeTable.tombstones, summary: 'What was rejected for good', answer: TombstoneList, errors: [] },
  liftTombstone: {
    ...routeTable.liftTombstone,
    summary: 'Let something that was rejected be said again',
    params: ChangeParams,
    answer: Nothing,
    errors: ['REFUSED'],
  },
  reviews: { ...routeTable.reviews, summary: 'Changes that wait for a person', answer: ReviewList, errors: [] },
  decideReview: {
    ...routeTable.decideReview,
    summary: 'Approve or reject a change that waits',
    params: ChangeParams,
    body: Decision,
    answer: Decided,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
  },
} as const satisfies RouteGroup
