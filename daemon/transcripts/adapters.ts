/** Which adapter reads which harness. */
import type { Adapter } from './adapter.ts'
import { claudeCode } from './claude-code.ts'
import { codex } from './codex.ts'
import { gemini } from './gemini.ts'
import { generic } from './generic.ts'
import { pi } from './pi.ts'

export const adapters: readonly Adapter[] = [claudeCode, codex, gemini, pi, generic]

const byHarness = new Map<string, Adapter>(adapters.map((adapter) => [adapter.harness, adapter]))

/** A harness without a form of its own speaks the generic one. */
export function adapterFor(harness: string): Adapter {
  return byHarness.get(harness) ?? generic
}
