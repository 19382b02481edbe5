/** Takes credentials out of a line before it is logged. Errors quote what they choke on, so keys alone are not enough. */

// Every run is bounded: a line is hostile input too, and an unbounded run over a long one takes minutes.
const shapes: RegExp[] = [
  /\bsk-[A-Za-z0-9_-]{16,300}/g,
  /\b(?:gh[pousr]_[A-Za-z0-9]{20,300}|github_pat_[A-Za-z0-9_]{20,300})/g,
  /\b(?:xox[abprs]-[A-Za-z0-9-]{10,300}|npm_[A-Za-z0-9]{20,300}|AIza[A-Za-z0-9_-]{30,300})/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\beyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{1,2000}/g,
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[A-Za-z0-9+/=\s]|\\[nr])*(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g,
]
const BEARER = /\b(Bearer|Basic)\s{1,9}[A-Za-z0-9._~+/=-]{8,4000}/gi
const URL_PASSWORD = /(\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s:/@"]{0,200}):[^\s@/"]{1,300}@/gi

export function redactLine(line: string): string {
  let clean = line
  for (const shape of shapes) clean = clean.replace(shape, '[redacted]')
  return clean.replace(BEARER, '$1 [redacted]').replace(URL_PASSWORD, '$1:[redacted]@')
}
