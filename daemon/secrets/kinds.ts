/** The kinds of credentials and the marks that take their place in a text. */

/** A closed list: only what reads exactly like one of these marks is left alone when a redacted text is redacted again. */
const kinds = [
  'ai-key',
  'anthropic-key',
  'api-key',
  'aws-access-key-id',
  'aws-secret-key',
  'aws-session-token',
  'azure-key',
  'basic-auth',
  'bearer-token',
  'cloud-token',
  'cookie',
  'digitalocean-token',
  'discord-token',
  'github-token',
  'gitlab-token',
  'google-key',
  'huggingface-token',
  'jwt',
  'mail-key',
  'npm-token',
  'openai-key',
  'package-token',
  'password',
  'password-hash',
  'payment-key',
  'private-key',
  'pypi-token',
  'secret',
  'seed-phrase',
  'sendgrid-key',
  'shopify-token',
  'slack-token',
  'stripe-key',
  'telegram-token',
  'token',
  'twilio-key',
  'url-password',
  'url-signature',
  'url-token',
  'vault-token',
  'webhook',
] as const

export type Kind = (typeof kinds)[number]

export function markOf(kind: Kind): string {
  return `[redacted:${kind}]`
}

/** Every mark that `markOf` can make, and nothing else. */
export const MARK = new RegExp(`\\[redacted:(?:${kinds.join('|')})\\]`, 'g')

/** Whether it may stand in a redacted text for the sake of a mark: where it does not, the text itself must have it. */
export function mayTouchMark(part: string): boolean {
  return /[[\]]/.test(part) || kinds.some((kind) => markOf(kind).includes(part))
}
