/** Hooks of harnesses over HTTP: what they send as it is, what they are to print as it is. */
import type { Hooks } from '../../hooks/hooks.ts'
import { routeFile } from '../request.ts'

export const hookRoutes = (hooks: Hooks) =>
  routeFile(async () => (await import('../../../schema/hook.ts')).hookRoutes, {
    hook: ({ params, body, caller }) => hooks.answer(params.harness, body, caller),
  })
