/** What the main thread and the one that asks models say to each other. */
import type { Access } from './keys.ts'
import type { ModelAnswer, ModelFailure, Params } from './wire.ts'

export type ToAsking =
  | { kind: 'ask'; ask: number; params: Params; access: Access; idleMs: number }
  | { kind: 'abort'; ask: number }

export type FromAsking = { ask: number; result: ModelAnswer | ModelFailure }
