/** Changes, undo, tombstones and review. */
import type { Caller } from '../../../schema/caller.ts'
import type { Change, ChangeList, Decided, ReviewList, Run, TombstoneList } from '../../../schema/change.ts'
import { onlyPeople } from '../caller.ts'
import type { Handlers } from '../server.ts'

type Query = { file: string | undefined; limit: number | undefined; after: string | undefined }

type Deps = {
  history: {
    changes(cwd: string, caller: Caller, query: Query): ChangeList
    change(id: string): Change
    run(id: string): Run
    tombstones(): TombstoneList
    liftTombstone(id: string): void
    reviews(): ReviewList
  }
  undo: {
    change(id: number, actor: string): Promise<{ id: number }[]>
    run(id: string, actor: string): Promise<{ runId: string; applied: { id: number }[] }>
  }
  reviewing: { approve(id: number): Promise<Decided>; reject(id: number): Decided }
}

type Names =
  | 'changes'
  | 'change'
  | 'undoChange'
  | 'run'
  | 'undoRun'
  | 'tombstones'
  | 'liftTombstone'
  | 'reviews'
  | 'decideReview'

export function historyRoutes({ history, undo, reviewing }: Deps): Pick<Handlers, Names> {
  const undone = (done: { id: number }[]) => ({ changeIds: done.map(({ id }) => String(id)) })
  return {
    changes: ({ query, caller }) =>
      history.changes(query.cwd, caller, { file: query.file, limit: query.limit, after: query.after }),
    change: ({ params }) => history.change(params.id),
    undoChange: async ({ params, caller }) => undone(await undo.change(Number(params.id), caller.actor)),
    undoRun: async ({ params, caller }) => {
      const { runId, applied } = await undo.run(params.id, caller.actor)
      return { ...undone(applied), runId }
    },
    run: ({ params }) => history.run(params.id),
    tombstones: () => history.tombstones(),
    liftTombstone: ({ params, caller }) => {
      onlyPeople(caller)
      history.liftTombstone(params.id)
      return {}
    },
    reviews: () => history.reviews(),
    decideReview: ({ params, body, caller }) => {
      onlyPeople(caller)
      const id = Number(params.id)
      return body.decision === 'approve' ? reviewing.approve(id) : reviewing.reject(id)
    },
  }
}
