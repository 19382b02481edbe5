/** The memory prompt, and its renewal. */
import type { Caller } from '../../../schema/caller.ts'
import type { MemoryPrompt } from '../../../schema/prompt.ts'
import type { Handlers } from '../server.ts'

type Session = { harness: string; sessionId: string }

type Deps = {
  prompting: {
    prompt(cwd: string, caller: Caller, session: Session | undefined): Promise<MemoryPrompt>
    renew(session: Session): void
  }
}

export function promptRoutes({ prompting }: Deps): Pick<Handlers, 'memoryPrompt' | 'renewPrompt'> {
  return {
    memoryPrompt: ({ query: { cwd, sessionId, harness }, caller }) =>
      prompting.prompt(cwd, caller, sessionId === undefined ? undefined : { harness, sessionId }),
    renewPrompt: ({ query }) => {
      prompting.renew(query)
      return {}
    },
  }
}
