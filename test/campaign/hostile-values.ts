/** What the OpenAPI document allows in a field, and what it does not expect there. */
import { join } from 'node:path'

export type Random = () => number
export type Schema = {
  type?: string
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  minimum?: number
  maximum?: number
}
/** `cwd`: a project with memories. `outside`: what no request may read or change. */
export type Ground = { dir: string; cwd: string; outside: string }

export const below = (random: Random, limit: number) => Math.floor(random() * limit)
export const pick = <T>(random: Random, items: readonly T[]): T => items[below(random, items.length)] as T

/** By the name of a field: what a program that knows it would send. */
function known(name: string, { cwd, dir }: Ground): readonly unknown[] | undefined {
  const folders = [cwd, join(dir, 'other')]
  const table: Record<string, readonly unknown[]> = {
    cwd: folders,
    from: [cwd, 'writer', 'session:s1'],
    to: [`${cwd}-moved`, 'reader', '*'],
    dir: [join(dir, 'transcripts'), cwd],
    transcriptPath: [join(dir, 'transcripts', 's1.jsonl')],
    file: ['one.md', 'two.md', 'MEMORY.md', 'team/one.md', 'sub/three.md'],
    sessionId: ['s1', 's2'],
    session: ['s1'],
    agent: ['reader', 'writer'],
    type: ['tester', 'user', 'feedback'],
    id: ['1', '2', '7', 's1'],
    ids: ['1', '2'],
    after: ['0', '1', '3.4'],
    limit: ['1', '50', '999'],
    days: ['1', '999'],
    harness: ['claude-code', 'generic', 'codex', 'gemini', 'pi'],
    pid: [process.pid],
    wait: ['0'],
    at: ['2026-01-01T00:00:00Z', '2036-01-01T00:00:00Z'],
    ticket: ['t1'],
    ifHash: ['0'.repeat(64), null],
    fingerprint: ['0123456789abcdef'],
    endpoint: ['https://api.invalid/'],
    model: ['claude-sonnet-4-5'],
    deadlineMs: [1, 100],
    name: ['reader', 'writer'],
    messageId: ['m1'],
    toolUseId: ['u1'],
    requestId: ['r1'],
    kind: ['text', 'shutdown_request', 'file', 'header'],
  }
  return table[name]
}

/** Objects whose fields the document leaves open: messages of all forms, hooks. */
function loose(random: Random, { cwd }: Ground): object {
  return pick<object>(random, [
    { role: 'user', content: 'Always run the linter before a push.' },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Done.' },
        { type: 'tool_use', id: 'u1', name: 'Bash', input: { command: 'ls' } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'u1', content: 'a\nb', is_error: false }] },
    { type: 'user', id: 'm1', text: 'Always run the linter before a push.', at: '2026-01-01T00:00:00Z' },
    { type: 'assistant', id: 'm2', parentId: 'm1', text: 'Done.', end: 'final', usage: { input: 10, output: 2 } },
    { type: 'tool', id: 'm3', callId: 'u1', text: 'a' },
    { type: 'session', id: 's1', cwd },
    { type: 'rewind', turns: 1 },
    { hook_event_name: 'UserPromptSubmit', session_id: 's1', cwd, prompt: 'How do I run the linter before a push?' },
    { hook_event_name: 'SessionStart', session_id: 's1', cwd, source: 'startup' },
    { hook_event_name: 'Stop', session_id: 's1', cwd, transcript_path: join(cwd, 's1.jsonl') },
    {
      hook_event_name: 'PostToolUse',
      session_id: 's1',
      cwd,
      tool_name: 'Read',
      tool_input: { file_path: join(cwd, 'a') },
    },
  ])
}

export function sample(random: Random, schema: Schema, name: string, ground: Ground): unknown {
  const union = schema.anyOf ?? schema.oneOf
  if ('const' in schema) return schema.const
  if (schema.enum) return pick(random, schema.enum)
  const values = known(name, ground)
  if (values && schema.type !== 'object' && schema.type !== 'array') return pick(random, values)
  if (union) return sample(random, pick(random, union), name, ground)
  switch (schema.type) {
    case 'array':
      return Array.from({ length: below(random, 4) }, () => sample(random, schema.items ?? {}, name, ground))
    case 'object': {
      const { properties = {}, required = [] } = schema
      const isOpen = Object.keys(properties).length === 0
      const fields = Object.entries(properties).filter(([key]) => required.includes(key) || random() < 0.4)
      const given = fields.map(([key, value]) => [key, sample(random, value, key, ground)])
      return { ...(isOpen && loose(random, ground)), ...Object.fromEntries(given) }
    }
    case 'integer':
    case 'number':
      return Math.min(schema.maximum ?? 100, (schema.minimum ?? 0) + below(random, 5))
    case 'boolean':
      return random() < 0.5
  }
  return pick(random, ['Always run the linter before a push.', 'one', 'A thing', '# A\n\n- b'])
}

const nested = (depth: number) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`) as unknown

/** In a field of any type. */
export function hostileValue(random: Random, ground: Ground): unknown {
  return pick<() => unknown>(random, [
    () => hostileText(random, ground),
    () => hostileText(random, ground),
    () => hostilePath(random, ground),
    () => hostilePath(random, ground),
    () => pick(random, [null, true, false, 0, -1, 1.5, 1e308, -0, 2 ** 53, '', [], {}, [[]], [null], { a: { b: {} } }]),
    () => nested(pick(random, [50, 2_000])),
    () => JSON.parse('{"toString":"x","toJSON":"y","length":-1,"then":1,"hasOwnProperty":1}') as unknown,
    () => JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}') as unknown,
    () => Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`k${n}`, n])),
    () => Array.from({ length: 3_000 }, (_, n) => (n % 2 ? {} : String(n))),
    () => Array.from({ length: 20 }, () => loose(random, ground)),
  ])()
}

/** Half of a pair of surrogates arrives as it is where JSON escapes it. */
const LONE = '\ud800'

export function hostileText(random: Random, { cwd }: Ground): string {
  return pick<() => string>(random, [
    () => '\0',
    () => `a\0b`,
    () => LONE,
    () => `a${LONE}b`,
    () => '\udc00'.repeat(100),
    () => '\u202e\u2066\ufeff\u200b',
    () => '\x1b[2J\x1b]0;x\x07\r\n\b\x7f\x85',
    () => 'e\u0301'.repeat(600),
    () => '\u{1f468}\u200d\u{1f469}'.repeat(300),
    () => 'İıſK'.repeat(100),
    () => 'x'.repeat(pick(random, [255, 256, 512, 1_001, 4_097, 70_000, 1_100_000])),
    () => ' '.repeat(5_000),
    () => '\n'.repeat(5_000),
    () => 'a '.repeat(30_000),
    () => '('.repeat(5_000),
    () => `${'*'.repeat(3_000)}x`,
    () => '---\nname: [\n---\n',
    () => `---\n${'a: &a [*a, *a]\n'.repeat(30)}---\nx`,
    () => `---\n__proto__:\n  polluted: true\nname: x\ndescription: y\ntype: user\n---\nbody`,
    () => '---js\nprocess.exit(1)\n---\nx',
    () => '"; DROP TABLE changes; --',
    () => '" OR NEAR(a b) * ^ { } col:x',
    () => '%s%n%x {{7*7}} $(id) `id`',
    () => '__proto__',
    () => 'constructor',
    () => 'NaN',
    () => '-0',
    () => '99999999999999999999',
    () => '2026-13-45T99:99:99Z',
    () => `${cwd}\n${cwd}`,
  ])()
}

/** Nothing outside of the home is named that a daemon of root could write to. */
export function hostilePath(random: Random, { dir, cwd, outside }: Ground): string {
  return pick(random, [
    '..',
    '../..',
    '../x.md',
    '/',
    '//',
    './',
    '/../../..',
    '/proc/self/fd',
    '/proc/self/environ',
    '/proc/self/mem',
    '/dev/zero',
    '/dev/null',
    '/proc/self/cwd/project',
    `${cwd}/../project`,
    `${cwd}/./`,
    `${cwd}//`,
    `${cwd}/a/../../outside`,
    outside,
    join(outside, 'secret.md'),
    join(dir, 'link'),
    join(dir, 'loop'),
    join(dir, 'loop', 'x'),
    join(dir, 'pipe'),
    join(dir, 'file'),
    join(dir, 'file', 'below'),
    join(dir, 'not', 'there'),
    join(dir, '.memoryd'),
    `${dir}/${'d/'.repeat(1_500)}`,
    `${dir}/${'n'.repeat(300)}`,
    `${dir}/${'n'.repeat(4_200)}`,
    'link/x.md',
    'sub/../../x.md',
    'a\\..\\b.md',
    '%2e%2e%2fx.md',
    '..%2f..%2fx.md',
    '.git/config',
    '.env',
    'x.md/',
    '.',
    'MEMORY.md/x.md',
    'memory.MD',
    'CON',
    'team/../x.md',
    '~/x.md',
    '$HOME/x.md',
    'file:///etc/passwd',
  ])
}
