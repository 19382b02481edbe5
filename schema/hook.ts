import { z } from 'zod'
import type { RouteGroup } from './contract.ts'

/** A settings file that `memoryd connect` has changed, as it notes it in `<state>/connections`. */
export const Connection = z.strictObject({
  harness: z.string(),
  file: z.string(),
  at: z.iso.datetime(),
  made: z.boolean().describe('Whether there was no such file before'),
  folder: z.string().describe('The deepest folder on the way to it that was there before'),
  pieces: z.array(z.object({ at: z.int(), text: z.string() })).describe('What was put in, and where it stands'),
  hash: z.string().describe('SHA-256 of the file as it was left'),
})
export type Connection = z.infer<typeof Connection>

export const HOOK_MARK = 'memoryd-hook'

export const hookRoutes = {
  hook: {
    summary: 'What a hook of a harness was given; answers what the hook is to print',
    params: z.strictObject({ harness: z.string().min(1).max(64).describe('Whose hook it is') }),
    // Harnesses change from version to version: any field is let through.
    body: z.looseObject({}).describe('What the harness gives its hook on standard input, as it is'),
    answer: z.string().describe('Exactly what the hook is to print'),
  },
} satisfies RouteGroup
