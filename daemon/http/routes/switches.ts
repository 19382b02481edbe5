/** Pause and resume. */
import type { Paused } from '../../../schema/switches.ts'
import type { Handlers } from '../server.ts'

type Deps = Record<'pause' | 'resume', (cwd: string | undefined) => Paused>

export function switchRoutes({ pause, resume }: Deps): Pick<Handlers, 'pause' | 'resume'> {
  return {
    pause: ({ body }) => pause(body.cwd),
    resume: ({ body }) => resume(body.cwd),
  }
}
