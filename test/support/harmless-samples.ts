/** Texts that look like credentials and are none: hashes, ids, public keys, code and talk about secrets. */
import { ALNUM, BASE64, below, chars, DIGITS, HEX, LOWER, pick, type Random, URL64 } from './secret-values.ts'

export type HarmlessSample = { kind: string; text: string }

const NOUNS = 'order user session cache cluster report invoice widget build index worker topic gateway policy'.split(
  ' ',
)
const VERBS = 'load render fetch resolve update create handle validate schedule merge parse compute'.split(' ')
const title = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

function uuid(r: Random): string {
  return [8, 4, 4, 4, 12].map((length) => chars(r, HEX, length)).join('-')
}

function camel(r: Random): string {
  return pick(r, VERBS) + Array.from({ length: 3 + below(r, 4) }, () => title(pick(r, NOUNS))).join('')
}

function armoured(r: Random, label: string): string {
  const lines = Array.from({ length: 8 + below(r, 8) }, () => chars(r, BASE64, 64))
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----`
}

const made: Record<string, (r: Random) => string> = {
  'git-sha': (r) => `Fixed in ${chars(r, HEX, 40)}, see also ${chars(r, HEX, 7)}.`,
  'git-log': (r) =>
    `commit ${chars(r, HEX, 40)}\nAuthor: Dana <dana@internal.test>\n\n    auth: check the token before the password\n`,
  'git-diff': (r) => `index ${chars(r, HEX, 7)}..${chars(r, HEX, 7)} 100644\n--- a/src/token.ts\n+++ b/src/token.ts`,
  sha256: (r) => `${chars(r, HEX, 64)}  memoryd-1.4.${below(r, 20)}.tar.gz`,
  'docker-digest': (r) => `FROM node:20@sha256:${chars(r, HEX, 64)}`,
  'docker-url': (r) => `docker://registry.internal.test/node:20.1@sha256:${chars(r, HEX, 64)}`,
  integrity: (r) =>
    `"resolved": "https://registry.npmjs.org/pino/-/pino-10.4.0.tgz",\n"integrity": "sha512-${chars(r, BASE64, 86)}=="`,
  'go-sum': (r) => `golang.org/x/net v0.${below(r, 40)}.0 h1:${chars(r, BASE64, 43)}=`,
  'pip-hash': (r) => `requests==2.31.0 --hash=sha256:${chars(r, HEX, 64)}`,
  'cargo-checksum': (r) => `name = "serde"\nversion = "1.0.${below(r, 200)}"\nchecksum = "${chars(r, HEX, 64)}"`,
  uuid: (r) => `Request ${uuid(r)} took 31 ms; session ${uuid(r)} was resumed.`,
  ulid: (r) => `job ${chars(r, '0123456789ABCDEFGHJKMNPQRSTVWXYZ', 26)} finished`,
  'data-uri': (r) => `![logo](data:image/png;base64,${chars(r, BASE64, 200 + below(r, 800))}=)`,
  'base64-body': (r) => `{"image":"${chars(r, BASE64, 300 + below(r, 500))}"}`,
  identifier: (r) => `${camel(r)}(${camel(r)}.${camel(r)}, ${camel(r)})`,
  constant: (r) => `MAX_${pick(r, NOUNS).toUpperCase()}_TOKENS_PER_${pick(r, NOUNS).toUpperCase()} = ${below(r, 9000)}`,
  minified: (r) =>
    `!function(e,t){var n=e.${pick(r, VERBS)},r=t["${pick(r, NOUNS)}"]||{};n.token=r.token,n.password=t.password;for(var o=0;o<${below(r, 99)};o++)e[o]=n(o)}(window,{});`,
  semver: (r) => `Upgrade from 1.${below(r, 30)}.${below(r, 30)}-beta.${below(r, 9)} to ^2.0.0 || >=2.1.3`,
  path: (r) =>
    `/home/dana/work/${pick(r, NOUNS)}/src/auth/password-reset/${pick(r, VERBS)}Token.test.ts:${below(r, 400)}:${below(r, 80)}`,
  'windows-path': (r) => `C:\\Users\\dana\\token\\new\\${pick(r, NOUNS)}\\${camel(r)}.txt`,
  colour: (r) => `--token-border: #${chars(r, HEX, 6)}; --secret-tint: #${chars(r, HEX, 8)};`,
  'asset-name': (r) => `dist/assets/index-${chars(r, URL64, 8)}.js and main.${chars(r, HEX, 20)}.css`,
  'ssh-public-key': (r) => `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA${chars(r, BASE64, 43)} dana@laptop`,
  'ssh-rsa-key': (r) => `ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ${chars(r, BASE64, 340)}= deploy`,
  'ssh-fingerprint': (r) => `256 SHA256:${chars(r, BASE64, 43)} dana@laptop (ED25519)`,
  certificate: (r) => armoured(r, 'CERTIFICATE'),
  'public-key': (r) => armoured(r, 'PUBLIC KEY'),
  'pgp-public-key': (r) => armoured(r, 'PGP PUBLIC KEY BLOCK'),
  'pgp-signature': (r) => armoured(r, 'PGP SIGNATURE'),
  'url-with-user': (r) =>
    `git clone ssh://git@${pick(r, NOUNS)}.internal.test:2222/team/app.git and https://dana@internal.test/x`,
  'url-with-port': (r) => `http://localhost:${3000 + below(r, 999)}/@scope/${pick(r, NOUNS)}?v=${chars(r, HEX, 8)}`,
  'scp-address': (r) => `git@github.com:team/${pick(r, NOUNS)}.git, then rsync dana@host:/srv/${pick(r, NOUNS)}`,
  'long-url': (r) =>
    `https://internal.test/docs/${camel(r)}/${uuid(r)}?tab=readme&ref=${chars(r, HEX, 40)}#${pick(r, NOUNS)}`,
  arn: (r) => `arn:aws:secretsmanager:eu-west-1:${chars(r, DIGITS, 12)}:secret:prod/db-${chars(r, ALNUM, 6)}`,
  'cloud-id': (r) =>
    `i-0${chars(r, HEX, 16)} in subnet-0${chars(r, HEX, 16)} uses ami-0${chars(r, HEX, 16)} (AWS, s3://logs-${chars(r, HEX, 8)})`,
  etag: (r) => `ETag: "${chars(r, HEX, 32)}"\nX-Request-Id: ${uuid(r)}\nCF-Ray: ${chars(r, HEX, 16)}-FRA`,
  'css-class': (r) =>
    `<div class="sk-${pick(r, NOUNS)}-spinner sk-folding-cube sk-${pick(r, NOUNS)}-${below(r, 12)} task-${chars(r, HEX, 12)}">`,
  'model-name': (r) =>
    `model: claude-3-5-sonnet-202410${10 + below(r, 20)}, max_tokens: ${below(r, 9000)}, output_tokens=${below(r, 9000)}`,
  timestamp: (r) =>
    `2026-0${1 + below(r, 9)}-1${below(r, 9)}T10:22:31.${chars(r, DIGITS, 3)}Z pid=${below(r, 99999)} took=${below(r, 999)}ms`,
  addresses: (r) =>
    `10.0.${below(r, 255)}.${below(r, 255)}:8443, fe80::${chars(r, HEX, 4)}:${chars(r, HEX, 4)}, 02:42:${chars(r, HEX, 2)}:11:00:02`,
  trace: (r) => `    at ${camel(r)} (file:///srv/app/dist/token/${pick(r, NOUNS)}.js:${below(r, 900)}:${below(r, 90)})`,
  slug: (r) => `-home-dana-work-${pick(r, NOUNS)}-${chars(r, LOWER, 6)}/memory/${uuid(r)}.jsonl`,
  'cache-key': (r) => `cache-key-${chars(r, HEX, 32)} hit; key: linux-node-${chars(r, HEX, 64)}`,
  'wallet-address': (r) => `sent to 0x${chars(r, HEX, 40)} in tx 0x${chars(r, HEX, 64)}`,
  selector: (r) => `[data-token-index="${below(r, 99)}"] > .password-field:nth-child(${below(r, 9)}) { color: red }`,
  test: (r) => `it('rejects a wrong password ${below(r, 99)} times', () => expect(check(token)).toBe(false))`,
}

/** What people write about credentials without giving one away. */
const TALK = [
  'The password is stored in 1Password; ask Dana for access.',
  'Never commit passwords or tokens. Use the vault instead.',
  'Password: required, at least 12 characters, one digit and one symbol.',
  'Your token has expired, please log in again.',
  'We hash the password with argon2id and a random salt.',
  'The token is base64-encoded and signed with HS256.',
  'Tokens are counted per request; the limit is 200000 tokens.',
  'Set the API key in the dashboard under Settings → Keys.',
  'password reset emails are sent within 5 minutes',
  'The secret to fast builds is caching.',
  'I forgot my password again. Can you reset it?',
  'The access token lives for 15m, the refresh token for 30d.',
  'Use `--password-stdin` rather than `--password <value>`.',
  'The --token flag is required when CI=true.',
  'Basic authentication is disabled, bearer tokens are fine.',
  'Authorization: Bearer <token>',
  'Authorization: Bearer $TOKEN',
  'curl -H "Authorization: Bearer §{API_TOKEN}" https://api.internal.test/me',
  'curl -u "$USER:$PASSWORD" https://api.internal.test/',
  'Look for lines starting with -----BEGIN RSA PRI' + 'VATE KEY----- in the repository.',
  'The private key never leaves the machine; only the public key is copied.',
  'API key format: 32 hex characters, prefix test_ or live_.',
  'password policy: length >= 14, rotation every 90 days',
  'secret santa is on 2026-12-18 at 18:00',
  'The user prefers passkeys over passwords and TOTP over SMS.',
  'Bearer tokens must be sent in the Authorization header.',
  'Secrets are synced from Vault by external-secrets every 60s.',
  'The pass rate went from 93% to 98.7% in build 4411.',
  'Token budget: 4,096 for input, 1,024 for output.',
  'JWT verification fails when the clock is off by more than 60s.',
  'compass: 270deg, bypass: disabled, trespass: no',
  'The login page asks for user name and password twice.',
]

const CODE = [
  'const password = process.env.DB_PASSWORD',
  'password: string',
  'token: string | undefined',
  'export type Login = { user: string; password: string; token?: Token }',
  'const { password, token } = await readCredentials(path)',
  'if (password !== confirmPassword) throw new Error("passwords differ")',
  'password: z.string().min(12).max(128),',
  'api_key = os.environ["API_KEY"]',
  'API_KEY=your-api-key-here',
  'DB_PASSWORD=§{DB_PASSWORD:-changeme}',
  'DB_PASSWORD=<password>',
  'PASSWORD=changeme',
  'password = "********"',
  'token: "xxxxxxxxxxxxxxxxxxxx"',
  'password: {{ .Values.db.password }}',
  'password: §{{ secrets.DB_PASSWORD }}',
  'secretKeyRef:\n  name: db-credentials\n  key: password',
  'password_file: /run/secrets/db_password',
  'postgres://user:password@localhost:5432/app',
  'postgres://§{DB_USER}:§{DB_PASSWORD}@§{DB_HOST}/app',
  'https://<user>:<password>@internal.test/',
  'redis://:$REDIS_PASSWORD@cache:6379',
  'SELECT id FROM users WHERE email = ? AND password = ?',
  'token = next(tokens); kind = token.kind',
  'const token = lexer.nextToken()',
  'this.password = hashPassword(rawPassword)',
  'user.password = passwordEncoder.encode(form.getPassword());',
  'mkdir -p build/output && cp -p src/token.ts build/',
  'docker run -p 8080:80 -e PASSWORD_FILE=/run/pw nginx:1.25',
  'ssh -p 2222 -i ~/.ssh/id_ed25519 dana@host',
  'mysql -u root -p main < dump.sql',
  'tsc -p client && vitest run --dir test',
  'eos_token: "<|endoftext|>"',
  '<input type="password" name="password" placeholder="Password" autocomplete="current-password">',
  '"password": "Passwort", "token": "Zugangsmarke", "login": "Anmelden"',
  'var password = document.getElementById("password").value;',
  'nextPageToken: response.nextPageToken',
  'cancellationToken.ThrowIfCancellationRequested();',
  '@Value("§{app.jwt.secret}") private String secret;',
  'secretName: web-tls-2026',
  'client_secret: var.oidc_client_secret',
  'TOKEN_LIMIT=200000\nTOKEN_TTL=3600\nPASSWORD_MIN_LENGTH=14',
  'sk_live_' + 'your_key_here',
  'export GITHUB_TOKEN=$(gh auth token)',
  'password: !vault |',
  'op://work/database/password',
]

const kinds: (readonly [kind: string, make: (r: Random) => string])[] = [
  ...Object.entries(made),
  // Half of what must be left alone is talk and code, as it is in a conversation.
  ...Array.from({ length: 20 }, () => ['talk', (r: Random) => pick(r, TALK).replaceAll('§{', '$' + '{')] as const),
  ...Array.from({ length: 20 }, () => ['code', (r: Random) => pick(r, CODE).replaceAll('§{', '$' + '{')] as const),
]

export function harmlessSamples(random: Random, count: number): HarmlessSample[] {
  const first = below(random, kinds.length)
  return Array.from({ length: count }, (_, at) => {
    const [kind, make] = kinds[(first + at) % kinds.length] as (typeof kinds)[number]
    return { kind, text: make(random) }
  })
}
