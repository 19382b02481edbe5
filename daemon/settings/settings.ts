/** The shape and defaults of the configuration file. The published JSON schema is made from this. Does no I/O. */
import { validateDetailed } from 'node-cron'
import { z } from 'zod'

const enabled = (on: boolean) => z.boolean().default(on)
const count = (fallback: number, { min = 0, max = Number.MAX_SAFE_INTEGER } = {}) =>
  z.int().min(min).max(max).default(fallback)
const path = z.string().regex(/^(\/|~\/)/, 'expected a path that starts with / or ~/')
const paths = (fallback: string[]) => z.array(path).default(fallback)
const dollars = z.number().min(0)
/** node-cron lists every value of a range. */
const TOO_LARGE = { message: 'it has a number of more than two digits' }
const CRON = /^\S+(\s+\S+){4,5}$/
const cron = (fallback: string) =>
  z
    .string()
    .regex(CRON, 'expected five or six cron fields')
    .superRefine((expression, context) => {
      // The pattern, which editors know as well, checks how many fields there are.
      if (!CRON.test(expression)) return
      const [error] = /\d{3}/.test(expression) ? [TOO_LARGE] : validateDetailed(expression).errors
      if (error) context.addIssue({ code: 'custom', message: `expected a cron expression (${error.message})` })
    })
    .default(fallback)
const model = (fallback: string) => z.string().min(1).default(fallback)
const SMALL = 'claude-haiku-5-5'
const LARGE = 'claude-sonnet-5-5'

const section = <T extends z.ZodRawShape>(shape: T) => z.strictObject(shape).prefault({} as never)

export const Settings = z
  .strictObject({
    $schema: z.string().optional(),
    roots: section({
      'claude-code': paths(['~/.claude/projects']),
      codex: paths(['~/.codex/sessions']),
      gemini: paths(['~/.gemini/tmp']),
      pi: paths(['~/.pi/agent/sessions']),
      generic: paths([]),
    }).describe('Where each harness keeps its transcripts'),
    sweepSeconds: count(60, { min: 1, max: 86_400 }),
    private: paths([]).describe('Folders whose sessions are never captured or recalled'),
    review: z.enum(['auto', 'required']).default('auto'),
    model: section({
      baseUrl: z
        .url({ protocol: /^https?$/ })
        .nullable()
        .default(null),
      apiKeyFile: path.nullable().default(null).describe('Holds the key alone; must be yours, mode 600'),
      apiKeyCommand: z.string().min(1).nullable().default(null).describe('Prints the key, such as a keychain look-up'),
      idleSeconds: count(120, { min: 1, max: 3_600 }).describe('How long an answer may stand still'),
      select: model(SMALL),
      extract: model(SMALL),
      notes: model(SMALL),
      summary: model(SMALL),
      compact: model(LARGE),
      dream: model(LARGE),
    }),
    budget: section({ usdPerDay: z.number().min(0).default(1), tokensPerDay: count(5_000_000) }).describe(
      '0 = no model at all',
    ),
    models: z
      .record(
        z.string().min(1),
        z.strictObject({
          windowTokens: z.int().min(1).optional(),
          maxOutputTokens: z.int().min(1).optional(),
          prices: z
            .array(
              z.strictObject({
                upToTokens: z.int().min(1).optional().describe('Prices of prompts up to this length'),
                input: dollars,
                output: dollars,
                cacheRead: dollars.optional(),
                cacheWrite5m: dollars.optional(),
                cacheWrite1h: dollars.optional(),
              }),
            )
            .min(1)
            .optional()
            .describe('In dollars for a million tokens'),
        }),
      )
      .default({})
      .describe('What is known of models, by their names, over what memoryd knows itself'),
    extraction: section({
      enabled: enabled(true),
      everyTurns: count(1, { min: 1 }),
      nonInteractive: enabled(false),
      backlogDays: count(14),
      prefix: z.enum(['rendered', 'harness']).default('rendered'),
    }),
    notes: section({
      enabled: enabled(true),
      initTokens: count(10_000),
      updateTokens: count(5_000),
      toolCalls: count(3),
    }),
    dream: section({
      enabled: enabled(true),
      minHours: z.number().min(0).default(24),
      minSessions: count(5),
      scanMinutes: z.number().min(0).default(10),
      cron: cron('*/30 * * * *'),
      maxDeletions: count(10),
    }),
    dailyLog: section({ enabled: enabled(false), cron: cron('0 3 * * *') }),
    recall: section({
      enabled: enabled(true),
      k: count(5, { min: 1, max: 5 }),
      deadlineMs: count(1_200, { min: 1, max: 60_000 }),
      hookDeadlineMs: count(250, { min: 1, max: 10_000 }),
      sessionBytes: count(60_000),
    }),
    context: section({
      enabled: enabled(true),
      autoCompact: enabled(true),
      microcompactByTime: enabled(false),
      toolResultChars: count(50_000),
      toolResultCharsPerMessage: count(200_000),
      toolResultCharsOf: z
        .record(z.string().min(1), z.int().min(0))
        .default({})
        .describe('Other limits for single tools, by their names'),
      preCompact: z.string().min(1).nullable().default(null).describe('Prints what a summary should emphasise'),
    }),
    team: section({ enabled: enabled(false) }),
    agentSummaries: section({ enabled: enabled(false), everySeconds: count(30, { min: 1 }) }),
    instructions: section({ agentsMd: enabled(false) }),
    retention: section({
      days: count(30, { min: 1 }).describe('Age at which what the daemon keeps for itself is deleted'),
      maxBytes: count(2_000_000_000).describe('The most the daemon keeps of it'),
      backups: count(7, { min: 1, max: 366 }).describe('How many daily backups are kept'),
    }),
    log: section({
      level: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
      maxBytes: count(20_000_000, { min: 100_000 }).describe('All log files together'),
    }),
  })
  .describe('memoryd configuration')

export type Settings = DeepReadonly<z.output<typeof Settings>>

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T

/** What editors complete and check against; committed as `schema/config.schema.json`. */
export function settingsJsonSchema(): object {
  return z.toJSONSchema(Settings, { io: 'input' })
}
