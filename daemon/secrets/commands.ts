/** Finds passwords in options of commands, SQL, `.netrc` and `.pgpass`. */
import { isChosen, isGiven, isRandom } from './credential.ts'
import type { Secret } from './detect.ts'

/** Up to the option of the same command. Lazy and bounded, so that a command without one has a fixed cost. */
const BEFORE = '[^\\n|;&]{0,200}?'
const VALUE = `(?:"([^"\\n]{1,2000})"|'([^'\\n]{1,2000})'|([^\\s"'\`]+))`
const GAP = '\\s{1,10}'
const FIELD = '\\S{1,200}'

type Form = { needs: string; pattern: RegExp; isReal: (value: string) => boolean }

function form(needs: string, source: string, isReal: Form['isReal'] = isGiven, flags = 'gm'): Form {
  return { needs, pattern: new RegExp(source, flags), isReal }
}

const forms: Form[] = [
  // -p means port, path or parents elsewhere, so the program is part of the form. MySQL asks when a space follows it.
  form(
    '-p',
    `\\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mariadb|7z|7za|rar|unrar)\\b${BEFORE}\\s-p(?=[^\\s-])${VALUE}`,
  ),
  form('-P', `\\b(?:sqlcmd|bcp|zip|unzip|mosquitto_(?:pub|sub))\\b${BEFORE}\\s-P ?(?=[^\\s-])${VALUE}`),
  form('-p', `\\b(?:sshpass|mongo|mongosh|mongodump|mongorestore|rdesktop)\\b${BEFORE}\\s-p ?(?=[^\\s-])${VALUE}`),
  form(
    'login',
    `\\b(?:docker|podman|buildah|skopeo|registry|oras|az|oc|auth|nerdctl)${GAP}login\\b${BEFORE}\\s-p[ =]?${VALUE}`,
  ),
  form(
    ':',
    `\\b(?:curl|wget|https?|xh)\\b${BEFORE}\\s(?:-u|--user|--proxy-user|-U|-a|--auth)[ =]?["']?[^\\s:"'/]{1,100}:(?!//)${VALUE}`,
  ),
  form('redis-cli', `\\bredis-cli\\b${BEFORE}\\s(?:-a|--pass)[ =]${VALUE}`),
  form('ldap', `\\bldap(?:search|add|modify|delete|passwd|whoami)\\b${BEFORE}\\s-w ?${VALUE}`),
  form('%', `\\b(?:smbclient|rpcclient|winexe)\\b${BEFORE}\\s-U ?["']?[^\\s%"']{1,100}%${VALUE}`),
  form('htpasswd', `\\bhtpasswd${GAP}-[A-Za-z]{0,6}b[A-Za-z]{0,6}${GAP}${FIELD}${GAP}${FIELD}${GAP}${VALUE}`),
  form('rabbitmqctl', `\\brabbitmqctl${GAP}(?:add_user|change_password)${GAP}${FIELD}${GAP}${VALUE}`),
  form(
    'openssl',
    `\\bopenssl\\b${BEFORE}\\s-(?:passin|passout|pass|k)${GAP}["']?(?:pass:)?(?!file:|env:|stdin|fd:)${VALUE}`,
  ),
  form('freerdp', `\\b[xw]freerdp\\b${BEFORE}\\s/p:${VALUE}`),
  form('sqlplus', `\\bsqlplus${GAP}(?:-\\w{1,20}${GAP}){0,3}[A-Za-z_]\\w{0,40}/${VALUE}`),
  form('echo', `\\becho${GAP}${VALUE}\\s{0,4}\\|\\s{0,4}(?:sudo${GAP}-S|docker login|passwd|chpasswd)`),
  form(
    'base64',
    `\\becho${GAP}(?:-n${GAP})?["']?[\\w.@-]{1,60}:${VALUE}["']?\\s{0,4}\\|\\s{0,4}(?:openssl${GAP})?base64`,
  ),
  form('ftp', `\\bl?ftp\\b${BEFORE}\\s-u ?["']?[^\\s,:"']{1,100}[,:]${VALUE}`),
  form('user', `\\buser(?:add|mod)\\b${BEFORE}\\s-p ?${VALUE}`),
  form('use', `\\bnet${GAP}use${GAP}${BEFORE}/user:${FIELD}${GAP}(?!/)${VALUE}`),
  form('secret', `\\b(?:gh|glab)${GAP}(?:secret|variable)${GAP}set\\b${BEFORE}\\s(?:--body|-b|--value|-v)[ =]${VALUE}`),
  form('/', `\\boracle:\\w{1,10}:[^\\s/:@]{1,60}/([^\\s@"']{1,100})@`),
  form(
    '',
    `\\b(?:credentials?|creds|log-?ins?|user(?:name)?/pass(?:word)?)\\b[^\\n:=]{0,20}?(?::|=|\\bis|\\bare|\\bwith)\\s{1,4}["'\`]?[\\w.@-]{2,40}["'\`]?\\s{0,2}[/:]\\s{0,2}${VALUE}`,
    (value) => isChosen(value) && /\d/.test(value),
    'gi',
  ),
  form('chpasswd', `\\bchpasswd\\b[^\\n]{0,20}?["']?[\\w.-]{1,40}:${VALUE}`),
  form('user', `\\bnet${GAP}user${GAP}[\\w.-]{1,60}${GAP}(?!/)${VALUE}`, isChosen),
  form('SecureString', `\\bConvertTo-SecureString${GAP}(?:-String${GAP})?${VALUE}`),
  form(
    '(',
    `\\b(?:auth|credentials?|NetworkCredential|HTTPBasicAuth|UsernamePasswordCredentials|basic_?auth|login)\\s{0,2}[=:]?\\s{0,2}\\(\\s{0,2}["'][^"'\\n]{1,60}["'],\\s{0,4}["']([^"'\\n]{1,200})["']`,
    isChosen,
    'gi',
  ),
  // Long options mean the same everywhere; `--password-file` and `--password-stdin` carry none.
  form(
    '-',
    `--?(?<=(?:[\\s"'\`]|^)--?)(?:[a-z]{2,20}-){0,3}(?:password|passwd|passphrase|pwd)(?:[= ]|["'],\\s{0,4})${VALUE}`,
  ),
  form(
    '-',
    `--?(?<=(?:[\\s"'\`]|^)--?)(?:[a-z]{2,20}-){0,3}(?:secret|token|key|credentials?)(?:[= ]|["'],\\s{0,4})${VALUE}`,
    (value) => isRandom(value) || (isChosen(value) && value.length >= 12 && !/[=:/.,]/.test(value)),
  ),
  form(
    '',
    `\\bidentified${GAP}(?:with${GAP}["']?\\w{1,40}["']?${GAP})?by${GAP}(?:password${GAP})?["']([^"'\\n]{1,200})["']`,
    isGiven,
    'gi',
  ),
  form("'", `\\bpassword${GAP}'([^'\\n]{1,200})'`, isGiven, 'gi'),
  form(
    'machine',
    `\\bmachine${GAP}(?:localhost|[\\w-]{1,60}[.:]\\S{1,200})${GAP}(?:login${GAP}${FIELD}${GAP})?(?:account${GAP}${FIELD}${GAP})?password${GAP}${VALUE}`,
  ),
  form('login', `\\blogin${GAP}${FIELD}${GAP}password${GAP}${VALUE}`, isChosen),
]

/** `.pgpass`, known by its four colons alone. */
const passwordFile = form(':', `^[\\w.*-]{1,100}:(?:\\d{2,5}|\\*):[\\w.*-]{1,64}:[\\w.*@-]{1,64}:${VALUE}$`)

/** Options read as prose too: `--token is required`. */
const PROSE =
  /^(?:is|are|was|and|or|to|for|flags?|options?|arguments?|parameters?|must|may|can|the|an?|if|when|in|on|with|from|as|not|value|instead|which|that|will|has|should|-.*)$/i

export function findInCommands(text: string): Secret[] {
  return findForms(text, forms)
}

export function findInPasswordFiles(text: string): Secret[] {
  return findForms(text, [passwordFile])
}

function findForms(text: string, wanted: readonly Form[]): Secret[] {
  return wanted
    .filter(({ needs }) => text.includes(needs))
    .flatMap(({ pattern, isReal }) =>
      [...text.matchAll(pattern)].flatMap((match): Secret[] => {
        const value = match.slice(1).find((group) => group !== undefined) ?? ''
        if (PROSE.test(value) || !isReal(value)) return []
        const start = match.index + match[0].lastIndexOf(value)
        return [{ kind: 'password', start, end: start + value.length }]
      }),
    )
}
