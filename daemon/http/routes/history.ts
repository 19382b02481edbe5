/** Changes, undo, tombstones and review over HTTP. */
import type { Memory } from '../../memory/memory.ts'
import { onlyUser, routeFile } from '../request.ts'

const changeIds = (changes: { id: number }[]) => changes.map(({ id }) => String(id))

export const historyRoutes = ({ history, undo, review }: Memory) =>
  routeFile(async () => (await import('../../../schema/history.ts')).historyRoutes, {
    changes: ({ query: { cwd, file, limit, after }, caller }) => history.changes(cwd, caller, { file, limit, after }),
    change: ({ params }) => history.change(params.id),
    undoChange: async ({ params, caller }) => ({
      changeIds: changeIds(await undo.change(Number(params.id), caller.actor)),
    }),
    undoRun: async ({ params, caller }) => {
      const { runId, applied } = await undo.run(params.id, caller.actor)
      return { changeIds: changeIds(applied), runId }
    },
    run: ({ params }) => history.run(params.id),
    tombstones: () => history.tombstones(),
    liftTombstone: ({ params, caller }) => {
      onlyUser(caller)
      history.liftTombstone(params.id)
      return {}
    },
    reviews: () => history.reviews(),
    decideReview: ({ params, body, caller }) => {
      onlyUser(caller)
      const id = Number(params.id)
      return body.decision === 'approve' ? review.approve(id) : review.reject(id)
    },
  })
