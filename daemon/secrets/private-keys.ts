/** Finds private keys: PEM, OpenSSH, PGP, SSH2 and PuTTY blocks, whole or cut off, base64 without a frame, JSON web keys. */
import type { Secret } from './detect.ts'

const FRAME = /-{4,5} ?(BEGIN|END) [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)? ?-{4,5}/g
const PUTTY = /Private-Lines: ?\d{1,3}\s{1,4}((?:[A-Za-z0-9+/=]{1,100}\s{1,4}){1,200})/g

/** Longer than any real key; a frame that is still open by then was never one. */
const MAX_KEY_CHARS = 64_000

export function findPrivateKeys(text: string): Secret[] {
  const found = [...framed(text), ...bare(text)]
  for (const match of text.matchAll(PUTTY))
    found.push({ kind: 'private-key', start: match.index, end: match.index + match[0].trimEnd().length })
  return found
}

function framed(text: string): Secret[] {
  const frames = [...text.matchAll(FRAME)]
  return frames.flatMap((begin, index): Secret[] => {
    if (begin[1] !== 'BEGIN') return []
    const start = begin.index
    const bodyStart = start + begin[0].length
    const next = frames[index + 1]
    if (next?.[1] === 'END' && next.index - bodyStart <= MAX_KEY_CHARS) {
      const isKey = /[A-Za-z0-9+/=]{16}/.test(text.slice(bodyStart, next.index).replace(/PRIVATE KEY/g, ''))
      return isKey ? [{ kind: 'private-key', start, end: next.index + next[0].length }] : []
    }
    const end = cutOffEnd(text, bodyStart, next?.index ?? text.length)
    return end > bodyStart ? [{ kind: 'private-key', start, end }] : []
  })
}

const DECORATION = /(?:\\[nrt]|\n[ \t]*(?:\/\/|--)[ \t]|[\s"'`+,>#|*\\])*/y
const HEADER = /(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|MessageID|Subject|x-[a-z-]{1,30}):[^\n\\]{0,200}/iy
const RUN = /[A-Za-z0-9+/=]+/y

/** A key without its last line ends where what follows no longer looks like base64. */
function cutOffEnd(text: string, from: number, limit: number): number {
  let end = from
  let at = from
  while (at < limit && at - from < MAX_KEY_CHARS) {
    const decorated = stick(DECORATION, text, at)
    const header = stick(HEADER, text, decorated)
    if (header > decorated) {
      at = header
      continue
    }
    const run = Math.min(stick(RUN, text, decorated), limit)
    const chars = text.slice(decorated, run)
    const goesOn =
      chars.length >= 40 || (chars.length >= 16 && /\d|[+/=]/.test(chars) && /[a-z]/.test(chars) && /[A-Z]/.test(chars))
    // The last line of a key is shorter than the others and stands alone on its line.
    const isLast = end > from && chars.length > 0 && /^[ \t]*(?:[\n\r"'`\\]|$)/.test(text.slice(run, run + 8))
    if (goesOn || isLast) end = run
    if (!goesOn) break
    at = run
  }
  return end
}

function stick(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}

// The first bytes of PKCS#1, PKCS#8, SEC1 and OpenSSH private keys, and of a PEM frame that was encoded once more.
const BARE =
  /(?:MII[A-Za-z0-9+/]{1,4}IBA(?:AKC|DANBgkqhkiG9w0B)|MHcCAQEEI|MIG[A-Za-z0-9+/]AgEAM(?:BMGByqGSM49|BAGByqGSM49)|MC4CAQAwBQYDK2Vw|b3BlbnNzaC1rZXktdjE|LS0tLS1CRUdJTi(?=[A-Za-z0-9+/]{0,24}(?:UFJJVkFURS|BSSVZBVE|QUklWQVRF)))[A-Za-z0-9+/=]{20,}/g
const MORE_LINES =
  /(?:(?:[ \t"'`+,>#|*]{0,8}(?:\r?\n|\\n)[ \t"'`>#|*]{0,12})[A-Za-z0-9+/]{40,}={0,2}){0,200}(?:[ \t"'`+]{0,4}(?:\r?\n|\\n)[ \t"'`]{0,12}[A-Za-z0-9+/]{2,}={1,2})?/y

/** Only its neighbour `kty` tells the private part of a JSON web key from any other `d`. */
const JWK_PART = /["'](?:d|p|q|dp|dq|qi|k)["']\s{0,8}:\s{0,8}["']([A-Za-z0-9_-]{20,})/g
const JWK_REACH = 2000

function bare(text: string): Secret[] {
  const found: Secret[] = []
  let end = 0
  for (const match of text.matchAll(BARE)) {
    if (match.index < end) continue
    end = stick(MORE_LINES, text, match.index + match[0].length)
    found.push({ kind: 'private-key', start: match.index, end })
  }
  if (!/["']kty["']/.test(text)) return found
  for (const match of text.matchAll(JWK_PART)) {
    const end = match.index + match[0].length
    const around = text.slice(Math.max(0, match.index - JWK_REACH), end + JWK_REACH)
    if (/["']kty["']/.test(around)) found.push({ kind: 'private-key', start: end - (match[1] ?? '').length, end })
  }
  return found
}
