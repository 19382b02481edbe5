/** Takes credentials out of a line before it is logged. Errors quote what they choke on, so keys alone are not enough. */

const shapes: RegExp[] = [
  /\bsk-[A-Za-z0-9_-]{16,}/g,
  /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})/g,
  /\b(?:xox[abprs]-[A-Za-z0-9-]{10,}|npm_[A-Za-z0-9]{20,}|AIza[A-Za-z0-9_-]{30,})/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
]
const BEARER = /\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi
const URL_PASSWORD = /([a-z][a-z0-9+.-]*:\/\/[^\s:/@"]*):[^\s@/"]+@/gi

export function redactLine(line: string): string {
  let clean = line
  for (const shape of shapes) clean = clean.replace(shape, '[redacted]')
  return clean.replace(BEARER, '$1 [redacted]').replace(URL_PASSWORD, '$1:[redacted]@')
}
