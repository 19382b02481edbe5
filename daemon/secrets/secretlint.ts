/**
 * Runs secretlint's recommended rules. Not through @secretlint/core: per call that keeps some 10 KB of performance marks for
 * ever, compares every finding with every other (16,000 tokens: 36 s), shifts ranges behind a byte order mark, and lets
 * a comment in the text (`secretlint-disable`) switch detection off.
 */
import { isPlaceholder, type Kind } from './credential.ts'
import type { Secret } from './detect.ts'

/** secretlint's own types lead to packages that are not installed. */
type Rule = { meta: { id: string }; create(context: object, options: object): { file?(source: object): unknown } }
type Report = { message: { data?: unknown }; range: readonly [number, number] }

/**
 * Left out: what obeys comments in the text; what reads files; whole addresses where only the password is secret
 * (addresses.ts); and two that take half a second per hostile megabyte (tokens.ts has their shapes).
 */
const LEFT_OUT = ['filter-comments', 'gcp', 'basicauth', 'database-connection-string', 'sendgrid', 'npm']

const KINDS: Record<string, Kind> = {
  aws: 'aws-secret-key',
  privatekey: 'private-key',
  slack: 'slack-token',
  shopify: 'shopify-token',
  github: 'github-token',
  gitlab: 'gitlab-token',
  openai: 'openai-key',
  anthropic: 'anthropic-key',
  groq: 'ai-key',
  huggingface: 'huggingface-token',
  grafana: 'cloud-token',
  linear: 'cloud-token',
  notion: 'cloud-token',
  vercel: 'cloud-token',
  databricks: 'cloud-token',
  figma: 'cloud-token',
  cloudflare: 'cloud-token',
  tailscale: 'cloud-token',
  stripe: 'stripe-key',
  docker: 'package-token',
  '1password': 'vault-token',
  'hashicorp-vault': 'vault-token',
}

export type PresetRule = { name: string; find(text: string): Promise<Secret[]> }

let loading: Promise<PresetRule[]> | undefined

/** Loaded with the first text that any of its rules needs: 10 ms, and megabytes. */
export function loadPreset(): Promise<PresetRule[]> {
  loading ??= load()
  return loading
}

async function load(): Promise<PresetRule[]> {
  const { rules } = await import('@secretlint/secretlint-rule-preset-recommend')
  return (rules as readonly Rule[]).flatMap((rule) => {
    const name = rule.meta.id.replace('@secretlint/secretlint-rule-', '')
    const find = (text: string) => run(rule, KINDS[name] ?? 'secret', text)
    return LEFT_OUT.includes(name) ? [] : [{ name, find }]
  })
}

async function run(rule: Rule, kind: Kind, text: string): Promise<Secret[]> {
  const found: Secret[] = []
  const context = {
    sharedOptions: {},
    createTranslator: () => (messageId: string, data: unknown) => ({ message: messageId, messageId, data }),
    report: ({ message, range }: Report) => {
      const { start, end } = locate(text, message.data, range)
      if (!isPlaceholder(text.slice(start, end))) found.push({ kind, start, end })
    },
    ignore: () => {},
  }
  await rule.create(context, {}).file?.({ content: text, contentType: 'text', ext: '.md', filePath: undefined })
  return found
}

/** Some rules report the value's length at the start of its assignment: the value itself says where it is. */
function locate(text: string, data: unknown, [start, end]: readonly [number, number]): { start: number; end: number } {
  for (const value of Object.values(data ?? {})) {
    if (typeof value !== 'string' || value.length !== end - start) continue
    const at = text.slice(start, end + 200).indexOf(value)
    if (at >= 0) return { start: start + at, end: start + at + value.length }
  }
  return { start, end }
}
