/** Hooks of harnesses: what they send as it is, what they are to print as it is. */
import type { Caller } from '../../../schema/caller.ts'
import type { PlainText } from '../../../schema/contract.ts'
import type { Handlers } from '../server.ts'

type Deps = {
  answer(harness: string, input: Readonly<Record<string, unknown>>, caller: Caller): Promise<PlainText | undefined>
}

export function hookRoutes({ answer }: Deps): Pick<Handlers, 'hook'> {
  return { hook: ({ params, body, caller }) => answer(params.harness, body, caller) }
}
