/** How large a window is, and what how full a context means. Pure. */

export type WindowFacts = {
  model: string
  /** What is known of the model, from settings or the table of models. */
  known: number | undefined
  betas: readonly string[]
  variables: ContextVariables
}

/** The caller's, else the daemon's. */
export type ContextVariables = {
  MEMORYD_CONTEXT_WINDOW?: string | undefined
  CLAUDE_AUTOCOMPACT_PCT_OVERRIDE?: string | undefined
  DISABLE_COMPACT?: string | undefined
  DISABLE_AUTO_COMPACT?: string | undefined
}

export type Levels<T> = { warning: T; error: T; autoCompact: T; blocked: T }

export type Room = {
  window: number
  effective: number
  thresholds: Levels<number>
}

const USUAL_WINDOW = 200_000
const MILLION = 1_000_000
/** Kept free for the summary. */
const SUMMARY_TOKENS = 20_000
const BEFORE = { warning: 20_000, error: 20_000, autoCompact: 13_000, blocked: 3_000 }

/** The name as a server knows it: a suffix is between a person and a harness. */
export function modelName(model: string): string {
  return model.replace(/\[1m\]$/i, '')
}

export function windowOf({ model, known, betas, variables }: WindowFacts): number {
  if (/\[1m\]$/i.test(model)) return MILLION
  if (known !== undefined) return known
  if (betas.some((beta) => /^context-1m-/.test(beta))) return MILLION
  const own = variables.MEMORYD_CONTEXT_WINDOW ?? ''
  return /^[1-9]\d{0,11}$/.test(own) ? Number(own) : USUAL_WINDOW
}

export function roomOf(window: number, { CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: percent }: ContextVariables): Room {
  const effective = Math.max(0, window - SUMMARY_TOKENS)
  const below = (tokens: number) => Math.max(0, effective - tokens)
  const share = percentOf(percent)
  const autoCompact = below(BEFORE.autoCompact)
  return {
    window,
    effective,
    thresholds: {
      warning: below(BEFORE.warning),
      error: below(BEFORE.error),
      autoCompact:
        share === undefined ? autoCompact : Math.min(autoCompact, Math.floor(exact((effective * share) / 100))),
      blocked: below(BEFORE.blocked),
    },
  }
}

/** Without what floating point adds or takes far behind the comma. */
function exact(value: number): number {
  return Number(value.toFixed(6))
}

function percentOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^\s*\d+(\.\d+)?\s*$/.test(text)) return undefined
  const value = Number(text)
  return value > 0 && value <= 100 ? value : undefined
}

export function statesAt(tokens: number, { thresholds }: Room): Levels<boolean> {
  return {
    warning: tokens >= thresholds.warning,
    error: tokens >= thresholds.error,
    autoCompact: tokens >= thresholds.autoCompact,
    blocked: tokens >= thresholds.blocked,
  }
}

export function percentLeft(tokens: number, { effective }: Room): number {
  return effective === 0 ? 0 : Math.max(0, ((effective - tokens) / effective) * 100)
}

export type Trigger = 'auto' | 'manual'

/** Why nobody may compact now, if so. */
export function compactionOff(
  trigger: Trigger,
  variables: ContextVariables,
  settings: { enabled: boolean; autoCompact: boolean },
): string | undefined {
  if (isSet(variables.DISABLE_COMPACT)) return 'DISABLE_COMPACT is set'
  if (!settings.enabled) return 'context.enabled is false'
  if (trigger === 'manual') return undefined
  if (isSet(variables.DISABLE_AUTO_COMPACT)) return 'DISABLE_AUTO_COMPACT is set'
  return settings.autoCompact ? undefined : 'context.autoCompact is false'
}

function isSet(value: string | undefined): boolean {
  return ['1', 'true', 'yes', 'on'].includes((value ?? '').trim().toLowerCase())
}
