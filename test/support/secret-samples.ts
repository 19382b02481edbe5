/**
 * Fake credentials as they turn up in conversations: in sentences, markdown, JSON, YAML, shells and logs. A sample says
 * which characters of its text must not survive. For every test that has to show that a secret ends up nowhere.
 */
import {
  ALNUM,
  BASE64,
  below,
  blocks,
  chars,
  DIGITS,
  freeStanding,
  HEX,
  LOWER,
  password,
  pick,
  type Random,
  slackHook,
} from './secret-values.ts'

export type SecretSample = { kind: string; text: string; secret: string }

type Made = { text: string; secret: string }
type Carrier = (secret: string) => Made

const plainly =
  (around: (secret: string) => string): Carrier =>
  (secret) => ({ text: around(secret), secret })
const quoted = (value: string): string => JSON.stringify(value).slice(1, -1)

/** Where a token that speaks for itself may stand. */
const anywhere: Carrier[] = [
  plainly((s) => `Use ${s} for staging until Friday, then ask Dana for a new one.`),
  plainly((s) => `I rotated it yesterday; the new one is ${s}.`),
  plainly((s) => `It works with **${s}**, not with the old one!`),
  plainly((s) => `The call fails unless you pass \`${s}\` as the second argument.`),
  plainly((s) => `> ${s}\n\nThat is what the dashboard showed me.`),
  plainly((s) => `| service | value |\n|---|---|\n| billing | ${s} |`),
  plainly((s) => `_${s}_ (expires in May)`),
  plainly((s) => `"${s}", '${s}' and (${s}) are all the same thing`),
  plainly((s) => `\`\`\`sh\nexport UPSTREAM_CREDENTIAL=${s}\n./deploy.sh --env prod\n\`\`\``),
  plainly((s) => `curl -sS -H "X-Upstream: ${s}" https://api.internal.test/v2/items | jq .`),
  plainly((s) => `const client = new Client('${s}', { retries: 3 })`),
  plainly(
    (s) => `services:\n  web:\n    image: web:1.4.2\n    environment:\n      UPSTREAM: ${s}\n      LOG_LEVEL: debug`,
  ),
  plainly((s) => `2026-03-01T10:22:31.204Z WARN upstream[812]: rejected ${s}, retrying in 200ms`),
  plainly((s) => `diff --git a/.env b/.env\n-UPSTREAM=none\n+UPSTREAM=${s}`),
  plainly((s) => `<p>Your key: <code>${s}</code></p>`),
  plainly((s) => `„${s}“ – so steht es in der Konfiguration 🔑`),
  (s) => ({ text: JSON.stringify({ user: 'dana', note: `call it with ${s} please` }), secret: quoted(s) }),
  (s) => ({
    text: JSON.stringify({ result: JSON.stringify({ line: `first\n${s}\nlast` }) }),
    secret: quoted(quoted(s)),
  }),
  (s) => ({ text: `GET /callback?state=ok&value=${encodeURIComponent(s)} HTTP/1.1`, secret: encodeURIComponent(s) }),
]

const blockCarriers: Carrier[] = [
  plainly((s) => `This is the deploy key:\n\n\`\`\`\n${s}\n\`\`\`\n\nPlease add it to the runner.`),
  plainly((s) => s),
  plainly((s) => `cat > ~/.ssh/id_deploy <<'EOF'\n${s}\nEOF\nchmod 600 ~/.ssh/id_deploy`),
  (s) => ({ text: `tls:\n  key: |\n${s.replace(/^/gm, '    ')}\n  port: 443`, secret: s.replace(/\n/g, '\n    ') }),
  (s) => ({
    text: JSON.stringify({ type: 'service_account', private_key: `${s}\n`, client_id: '1' }),
    secret: quoted(s),
  }),
  (s) => ({ text: JSON.stringify({ out: JSON.stringify({ private_key: s }) }), secret: quoted(quoted(s)) }),
  (s) => ({ text: `DEPLOY_KEY="${quoted(s)}"`, secret: quoted(s) }),
]

/** Credentials that only their surroundings make recognisable. */
const inContext: Record<string, (random: Random) => Made> = {
  'url-password': (r) => {
    const scheme = pick(r, ['postgres', 'mysql', 'mongodb+srv', 'redis', 'amqp', 'https', 'ftp', 'smb', 'clickhouse'])
    const secret = pick(r, [password(r), chars(r, LOWER, 9)].map(encodeURIComponent))
    return {
      text: pick(
        r,
        URL_PLACES,
      )(`${scheme}://${pick(r, ['app', 'root', ''])}:${secret}@db-${chars(r, HEX, 4)}.internal:5432/main`),
      secret,
    }
  },
  'aws-secret-key': (r) => {
    const secret = `${chars(r, LOWER, 1)}${chars(r, DIGITS, 1)}${chars(r, ALNUM.toUpperCase(), 1)}${chars(r, BASE64, 36)}${chars(r, ALNUM, 1)}`
    return { text: pick(r, AWS_PLACES)(secret), secret }
  },
  'azure-account-key': (r) => {
    const secret = `${chars(r, BASE64, 86)}==`
    return {
      text: `DefaultEndpointsProtocol=https;AccountName=files;AccountKey=${secret};EndpointSuffix=core.windows.net`,
      secret,
    }
  },
  'azure-sas': (r) => {
    const secret = encodeURIComponent(`${chars(r, BASE64, 43)}=`)
    return {
      text: `https://files.blob.core.windows.net/in/a.csv?sv=2023-11-03&sr=b&sp=r&se=2026-05-01&sig=${secret}`,
      secret,
    }
  },
  'bearer-token': (r) => {
    const secret = chars(r, ALNUM, 10) + chars(r, DIGITS, 2) + chars(r, `${ALNUM}-_.`, 20) + chars(r, ALNUM, 2)
    return { text: pick(r, BEARER_PLACES)(secret), secret }
  },
  'basic-auth': (r) => {
    const secret = Buffer.from(`deploy:${password(r)}`).toString('base64')
    return { text: pick(r, BASIC_PLACES)(secret), secret }
  },
  'twilio-auth-token': (r) => {
    const secret = chars(r, HEX, 32)
    return {
      text: pick(r, [
        `Twilio console → Auth Token ${secret}`,
        `TWILIO_AUTH_TOKEN=${secret}`,
        `twilio:\n  auth_token: "${secret}"`,
      ]),
      secret,
    }
  },
  'slack-webhook': (r) => {
    const { address, secret } = slackHook(r)
    return { text: pick(r, URL_PLACES)(address), secret }
  },
  netrc: (r) => {
    const secret = password(r)
    return {
      text: pick(r, [
        `machine git.internal.test login dana password ${secret}`,
        `machine git.internal.test\n  login dana\n  password ${secret}\n`,
      ]),
      secret,
    }
  },
  'connection-string': (r) => {
    const secret = password(r)
    return {
      text: `Server=tcp:db.internal,1433;Database=main;User Id=app;${pick(r, ['Password', 'Pwd', 'PASSWORD'])}=${secret};Encrypt=True;`,
      secret,
    }
  },
  password: (r) => {
    const secret = password(r)
    return { text: pick(r, PASSWORD_PLACES)(secret), secret }
  },
  'command-password': (r) => {
    const secret = password(r)
    return { text: pick(r, COMMAND_PLACES)(secret), secret }
  },
  'api-key': (r) => {
    const secret = pick(r, [
      chars(r, HEX, 32),
      chars(r, HEX, 40),
      `${chars(r, ALNUM, 8)}${chars(r, DIGITS, 3)}${chars(r, ALNUM, 20)}`,
    ])
    return { text: pick(r, KEY_PLACES)(secret), secret }
  },
}

const URL_PLACES = [
  (url: string) => `DATABASE_URL=${url}`,
  (url: string) => `We connect with ${url}, read-only.`,
  (url: string) => `{"dsn":"${url}"}`,
  (url: string) => `[dashboard](${url})`,
  (url: string) => `psql '${url}' -c 'select 1'`,
]
const AWS_PLACES = [
  (key: string) => `[default]\naws_secret_access_key = ${key}\nregion = eu-west-1`,
  (key: string) => `AWS_SECRET_ACCESS_KEY="${key}"`,
  (key: string) => `{"SecretAccessKey":"${key}"}`,
  (key: string) => `aws configure set aws_secret_access_key ${key}`,
  (key: string) => `The S3 bucket's keys are in the vault, the secret one is ${key}.`,
]
const BEARER_PLACES = [
  (token: string) => `curl -H "Authorization: Bearer ${token}" https://api.internal.test/me`,
  (token: string) => `AUTHORIZATION: BEARER ${token}`,
  (token: string) => JSON.stringify({ headers: { Authorization: `Bearer ${token}` } }),
  (token: string) => `fetch(url, { headers: { 'authorization': 'Bearer ${token}' } })`,
]
const BASIC_PLACES = [
  (value: string) => `Authorization: Basic ${value}`,
  (value: string) => `curl -H 'authorization: basic ${value}' https://api.internal.test/`,
  (value: string) => `{"auths":{"registry.internal.test":{"auth":"Basic ${value}"}}}`,
]
const PASSWORD_PLACES = [
  (p: string) => `DB_PASSWORD=${p}\nDB_HOST=db.internal`,
  (p: string) => `password: "${p}"`,
  (p: string) => `{"user":"app","password":"${p}"}`,
  (p: string) => `user: app\npassword: ${p}\nport: 5432`,
  (p: string) => `The admin password is ${p}.`,
  (p: string) => `the password for the staging database is \`${p}\` (changed last week)`,
  (p: string) => `PASSWORD = '${p}'`,
  (p: string) => `spring.datasource.password=${p}`,
  (p: string) => `<password>${p}</password>`,
  (p: string) => `login: dana, **password**: **${p}**`,
  (p: string) => `$config['db_pass'] = '${p}';`,
  (p: string) => `conn = connect(host="db", user="app", passwd="${p}")`,
  (p: string) => JSON.stringify({ log: JSON.stringify({ password: p }) }),
  (p: string) => `<add key="AdminPassword" value="${p}" />`,
  (p: string) => `| admin | password | ${p} |`,
]
const COMMAND_PLACES = [
  (p: string) => `mysql -u root -p${p} main < dump.sql`,
  (p: string) => `sshpass -p '${p}' ssh deploy@web1`,
  (p: string) => `docker login -u dana -p ${p} registry.internal.test`,
  (p: string) => `curl -u dana:${p} https://api.internal.test/`,
  (p: string) => `./import --user=dana --password=${p} --dry-run`,
  (p: string) => `ALTER USER app WITH PASSWORD '${p}';`,
  (p: string) => `CREATE USER 'app'@'%' IDENTIFIED BY '${p}';`,
  (p: string) => `PGPASSWORD=${p} psql -h db.internal -U app main`,
]
const KEY_PLACES = [
  (k: string) => `api_key = "${k}"`,
  (k: string) => `X-Api-Key: ${k}`,
  (k: string) => `  apiKey: '${k}',`,
  (k: string) => `CLIENT_SECRET=${k}`,
  (k: string) => `{"clientSecret":"${k}","grant":"client_credentials"}`,
  (k: string) => `My API key for the weather service is ${k}, please remember it.`,
  (k: string) => `export DATADOG_API_KEY=${k}`,
  (k: string) => `https://api.internal.test/v1/items?limit=5&api_key=${k}&page=2`,
  (k: string) => `SECRET_KEY_BASE: ${k}`,
]

type Maker = (random: Random) => SecretSample

const makers: Maker[] = [
  ...Object.entries(freeStanding).map(([kind, make]) => carried(kind, make, anywhere)),
  ...Object.entries(blocks).map(([kind, make]) => carried(kind, make, blockCarriers)),
  ...Object.entries(inContext).map(
    ([kind, make]): Maker =>
      (random) => ({ kind, ...make(random) }),
  ),
]

function carried(kind: string, make: (random: Random) => string, carriers: Carrier[]): Maker {
  return (random) => ({ kind, ...pick(random, carriers)(make(random)) })
}

/** All kinds in turn, so that every one of them comes up equally often. */
export function secretSamples(random: Random, count: number): SecretSample[] {
  const first = below(random, makers.length)
  return Array.from({ length: count }, (_, at) => (makers[(first + at) % makers.length] as Maker)(random))
}

/** The pieces of a secret whose survival would give it away: every eight characters of it, or all of a shorter one. */
export function remainsOf({ secret }: { secret: string }, text: string): string[] {
  const width = Math.min(8, secret.length)
  const pieces = Array.from({ length: secret.length - width + 1 }, (_, at) => secret.slice(at, at + width))
  return pieces.filter((piece) => text.includes(piece))
}
