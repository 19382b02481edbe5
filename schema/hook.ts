import { z } from 'zod'
import type { RouteGroup } from './contract.ts'

export const HookParams = z.strictObject({ harness: z.string().min(1).max(64).describe('Whose hook it is') })
/** Clients drift: whatever they send besides what is known is let through. */
export const HookInput = z.looseObject({}).describe('What the harness gives its hook on standard input, as it is')
export const HookOutput = z.string().describe('Exactly what the hook is to print')

/** A settings file that `memoryd connect` has changed, as it notes it in `<state>/connections`. */
export const Connection = z.strictObject({
  harness: z.string(),
  file: z.string(),
  at: z.iso.datetime(),
  made: z.boolean().describe('Whether there was no such file before'),
  folder: z.string().describe('The deepest folder on the way to it that was there before'),
  pieces: z.array(z.object({ at: z.int(), text: z.string() })).describe('What was put in, and where it stands'),
  /** SHA-256 of the file as it was left. */
  hash: z.string(),
})
export type Connection = z.infer<typeof Connection>

/** What stands in every hook of ours, and in none of others. */
export const HOOK_MARK = 'memoryd-hook'

/** Hooks of harnesses. */

export const hookRoutes = {
  hook: {
    summary: 'What a hook of a harness was given; answers what the hook is to print',
    params: HookParams,
    body: HookInput,
    answer: HookOutput,
  },
} satisfies RouteGroup
