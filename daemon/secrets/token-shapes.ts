/**
 * Credentials that give themselves away by their first characters, as their issuers document them. A shape is a prefix
 * and the least that must follow; longer is always taken whole, so that a new length never leaves a tail behind.
 */
import type { Kind } from './kinds.ts'

/** Prefix and body are regular expressions; a body has no condition at its end, which keeps every scan linear. */
export type Shape = readonly [kind: Kind, prefix: string, body: string]

const ALNUM = '[A-Za-z0-9]'
const WORD = '[A-Za-z0-9_]'
const URL64 = '[A-Za-z0-9_-]'
const BASE64 = '[A-Za-z0-9+/]'
const HEX = '[0-9a-fA-F]'

export const shapes: readonly Shape[] = [
  ['github-token', 'gh[pousr]_', `${WORD}{20,}`],
  ['github-token', 'github_pat_', `${WORD}{20,}`],
  [
    'gitlab-token',
    'gl(?:pat|dt|rt|rtr|cbt|ptt|ft|soat|agent|oas|imt|ffct|wt)-',
    `${URL64}{16,}(?:\\.${URL64}{2,40}){0,3}`,
  ],
  ['slack-token', 'xox[a-z]-', `[A-Za-z0-9-]{10,}`],
  ['slack-token', 'xox[a-z]\\.xox[a-z]-', `[A-Za-z0-9-]{10,}`],
  ['slack-token', 'x(?:app|wfp)-', `[A-Za-z0-9-]{10,}`],
  ['webhook', 'hooks\\.slack\\.com/(?:services|workflows|triggers)/', `[A-Za-z0-9_/+-]{20,}`],
  ['webhook', 'discord(?:app)?\\.com/api/(?:v\\d{1,2}/)?webhooks/', `\\d{15,22}/${URL64}{30,}`],
  ['webhook', 'webhook\\.office\\.com/webhookb2/', `[A-Za-z0-9@/_-]{30,}`],
  ['webhook', 'hooks\\.zapier\\.com/hooks/catch/', `[A-Za-z0-9/]{10,}`],
  ['stripe-key', '[sr]k_(?:live|test|prod)_', `${WORD}{16,}`],
  ['stripe-key', 'whsec_', `[A-Za-z0-9+/=_-]{24,}`],
  ['payment-key', 'sq0(?:atp|csp|idp)-', `${URL64}{20,}`],
  ['payment-key', 'access_token\\$(?:production|sandbox)\\$', `[a-z0-9$]{24,}`],
  ['payment-key', 'rzp_(?:live|test)_', `${ALNUM}{14,}`],
  ['payment-key', 'FLWSECK(?:_TEST)?-', `${URL64}{12,}`],
  ['shopify-token', 'shp(?:at|ca|pa|ss|tka|ua)_', `${ALNUM}{24,}`],
  ['google-key', 'AIza', `${URL64}{30,}`],
  ['google-key', 'GOCSPX-', `${URL64}{20,}`],
  ['google-key', 'ya29\\.', `[A-Za-z0-9_.-]{20,}`],
  ['google-key', '1//0', `${URL64}{30,}`],
  ['google-key', 'AQ\\.', `${URL64}{40,}`],
  ['google-key', 'AAAA[A-Za-z0-9_-]{7}:', `${URL64}{100,}`],
  ['openai-key', 'sk-(?:proj|svcacct|admin|None|service)-', `${URL64}{20,}`],
  ['anthropic-key', 'sk-ant-', `${URL64}{16,}`],
  ['ai-key', 'sk-(?:or|lf|kimi|cp|litellm)-', `${URL64}{20,}`],
  ['openai-key', 'sk-', `${ALNUM}{20,}`],
  ['huggingface-token', '(?:hf|api_org)_', `${ALNUM}{24,}`],
  ['ai-key', '(?:gsk|r8|pcsk|fw|csk|jina|lsv2_(?:pt|sk)|key_v\\d)_', `${WORD}{24,}`],
  ['ai-key', '(?:xai|pplx|tvly|nvapi|fc|exa)-', `${URL64}{24,}`],
  ['ai-key', 'sk_', `${HEX}{32,}`],
  ['npm-token', 'npm_', `${WORD}{30,}`],
  ['pypi-token', 'pypi-', `${URL64}{40,}`],
  ['package-token', 'rubygems_', `${HEX}{32,}`],
  ['package-token', 'dckr_[po]at_', `${URL64}{20,}`],
  ['package-token', '(?<![/+])oy2', `[a-z0-9]{43}(?![A-Za-z0-9+/=])`],
  ['package-token', '(?<![/+])cio', `${ALNUM}{32}(?![A-Za-z0-9+/=])`],
  ['digitalocean-token', 'do[oprt]_v1_', `${HEX}{32,}`],
  ['aws-access-key-id', '(?:AKIA|ASIA|ABIA|ACCA)', `[A-Z0-9]{16,}`],
  ['aws-session-token', '(?:IQoJb3JpZ2lu|F[wQ]oGZXIvYXdz)', `[A-Za-z0-9+/=]{40,}`],
  ['aws-secret-key', '(?:ABSK|bedrock-api-key-)', `[A-Za-z0-9+/=]{60,}`],
  ['azure-key', '(?:AccountKey|SharedAccessKey)=', `${BASE64}{30,}={0,2}`],
  ['discord-token', 'mfa\\.', `${URL64}{60,}`],
  ['twilio-key', '(?:SK|AC)', `[0-9a-f]{32}`],
  ['sendgrid-key', 'SG\\.', `${URL64}{16,64}\\.${URL64}{16,}`],
  ['mail-key', '(?<![_-])key-', `[0-9a-f]{32}`],
  ['mail-key', 'xkeysib-', `${URL64}{40,}`],
  ['mail-key', 're_', `${ALNUM}{8}_${ALNUM}{16,}`],
  ['vault-token', 'hv[sbr]\\.', `${URL64}{24,}`],
  ['vault-token', 'ops_', `eyJ${BASE64}{40,}={0,2}`],
  ['vault-token', 'A3-', `[A-Z0-9]{6}-(?:[A-Z0-9]{5,6}-){3,5}[A-Z0-9]{5}`],
  ['vault-token', 'dp\\.(?:pt|st|ct|sa|scim|audit)\\.', `[A-Za-z0-9_.-]{24,}`],
  ['private-key', 'AGE-SECRET-KEY-1', `[A-Z0-9]{40,}`],
  ['private-key', 'xprv', `${ALNUM}{80,}`],
  ['cloud-token', '(?:HRKU|NRAK|NRJS|NRII|PMAK|CFPAT|CCIPAT|tskey-(?:auth|api|client)|pul|FLY)-', `${URL64}{20,}`],
  [
    'cloud-token',
    '(?:nfp|rnd|sbp|sgp|bkua|phx|figd|ntn|tfp|aio|glsa|glc|CCIPAT|sb_secret|vc[pciark])_',
    `[A-Za-z0-9_+/=-]{20,}`,
  ],
  ['cloud-token', '(?:pscale_(?:tkn|pw|oauth)|sntry[su]|lin_(?:api|oauth)|fm[12])_', `[A-Za-z0-9_+/=.-]{24,}`],
  ['cloud-token', 'secret_', `${ALNUM}{40,}`],
  ['cloud-token', 'dapi', `${HEX}{32}(?:-\\d)?`],
  ['cloud-token', '(?:ATATT3|ATCTT3|ATBB|ATOA)', `[A-Za-z0-9_=-]{24,}`],
  ['cloud-token', '(?:LTAI|AKID)', `${ALNUM}{16,}`],
  ['cloud-token', 'sha256~', `${URL64}{40,}`],
  ['cloud-token', 'pat[A-Za-z0-9]{14}\\.', `${HEX}{40,}`],
  ['cloud-token', '(?<![/+])EAA', `${ALNUM}{60,}`],
  ['cloud-token', 'sl\\.(?:u\\.)?', `${URL64}{80,}`],
  ['cloud-token', 'sk\\.eyJ', `${URL64}{20,}\\.${URL64}{10,}`],
  ['cloud-token', '00D[A-Za-z0-9]{12,15}!', `[A-Za-z0-9._]{60,}`],
  ['cloud-token', 'v1\\.', `[0-9a-f]{40}`],
]

/** What stands out in the middle: left part, mark, rest. Looked for by its mark, which is rarer than its start. */
export const middles: readonly (readonly [kind: Kind, left: string, mark: string, rest: string])[] = [
  ['telegram-token', '\\d{8,10}', ':AA', `${URL64}{30,}`],
  ['discord-token', '[MNO][A-Za-z0-9_-]{23,27}', '\\.', `${URL64}{6}\\.${URL64}{27,}`],
  ['azure-key', '[A-Za-z0-9_~.-]{3}\\d', 'Q~', '[A-Za-z0-9_~.-]{31,}'],
  ['mail-key', '[0-9a-f]{32}', '-us', '\\d{1,2}'],
  ['cloud-token', `${ALNUM}{14}`, '\\.atlasv1\\.', `${URL64}{40,}`],
]
