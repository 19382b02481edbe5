/** Finds credentials that have no shape of their own but are known by what stands near them. */

import type { Secret } from './detect.ts'
import type { Kind } from './kinds.ts'
import { isPlaceholder } from './placeholder.ts'
import { isWordy } from './words.ts'

type Neighbour = { kind: Kind; value: RegExp; context: RegExp; reach: number; isReal: (value: string) => boolean }

// Both ends are bounded by lookaround, so a long run of the same characters fails at once instead of sliding along it.
const neighbours: Neighbour[] = [
  {
    kind: 'aws-secret-key',
    value: /(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=])/g,
    context: /aws|amazon|\bs3\b|AKIA|ASIA|secret.?access|access.?key|bedrock/i,
    reach: 160,
    // A commit id is forty characters too, but hexadecimal; a path of forty is made of words.
    isReal: (value) => /[a-z]/.test(value) && /[A-Z]/.test(value) && /\d/.test(value) && !isWordy(value),
  },
  {
    kind: 'twilio-key',
    value: /(?<![A-Za-z0-9])[0-9a-f]{32}(?![A-Za-z0-9])/g,
    context: /[Tt]wilio|TWILIO|\b(?:AC|SK)[0-9a-f]{32}/,
    reach: 120,
    isReal: () => true,
  },
  {
    kind: 'cloud-token',
    value: /(?<![A-Za-z0-9])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![A-Za-z0-9])/g,
    context: /heroku.{0,20}(?:api|key|token|auth)|(?:api|key|token).{0,20}heroku/i,
    reach: 60,
    isReal: () => true,
  },
  {
    kind: 'vault-token',
    value: /(?<![A-Za-z0-9])s\.[A-Za-z0-9]{24}(?![A-Za-z0-9])/g,
    context: /vault/i,
    reach: 120,
    isReal: (value) => /[a-z]/.test(value) && /[A-Z]/.test(value) && /\d/.test(value),
  },
  {
    kind: 'private-key',
    value: /(?<![A-Za-z0-9])(?:0x)?[0-9a-fA-F]{64}(?![A-Za-z0-9])/g,
    context: /private.?key|wallet.?key|secp256k1.?secret/i,
    reach: 40,
    isReal: () => true,
  },
]

const SEED_PHRASE =
  /\b(?:mnemonic|seed[ _-]?phrase|recovery[ _-]?phrase|seed[ _-]?words|wallet[ _-]?seed)\b[^\n]{0,40}?[:=]\s{0,4}["'`]?((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})/gi

export function findNearby(text: string): Secret[] {
  const found: Secret[] = []
  for (const { kind, value, context, reach, isReal } of neighbours) {
    if (!context.test(text)) continue
    for (const match of text.matchAll(value)) {
      const end = match.index + match[0].length
      if (isPlaceholder(match[0]) || !isReal(match[0])) continue
      const before = text.slice(Math.max(0, match.index - reach), match.index)
      if (context.test(`${before}\n${text.slice(end, end + reach)}`)) found.push({ kind, start: match.index, end })
    }
  }
  for (const match of text.matchAll(SEED_PHRASE)) {
    const end = match.index + match[0].length
    found.push({ kind: 'seed-phrase', start: end - (match[1] ?? '').length, end })
  }
  return found
}
