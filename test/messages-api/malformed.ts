/** Requests that the Messages API refuses, each with a word of why: what the scripted server must notice. */

type Json = Record<string, unknown>

const user = (content: unknown) => ({ role: 'user', content })
const assistant = (content: unknown) => ({ role: 'assistant', content })
const text = (said: string, more: Json = {}) => ({ type: 'text', text: said, ...more })
const use = (id: string, more: Json = {}) => ({ type: 'tool_use', id, name: 'Read', input: {}, ...more })
const result = (id: string, more: Json = {}) => ({ type: 'tool_result', tool_use_id: id, content: 'ok', ...more })
const mark = (ttl?: string) => ({ cache_control: { type: 'ephemeral', ...(ttl && { ttl }) } })
const read = { name: 'Read', description: 'reads', input_schema: { type: 'object', properties: {} } }

export const sound: Json = { model: 'claude-haiku-5-5', max_tokens: 100, messages: [user('hello')] }

const say = (...messages: unknown[]): Json => ({ ...sound, tools: [read], messages })
const without = (key: string): Json => Object.fromEntries(Object.entries(sound).filter(([name]) => name !== key))

export const malformed: readonly [what: string, body: Json, why: RegExp][] = [
  ['no model', without('model'), /^model: /],
  ['no limit of output', without('max_tokens'), /^max_tokens: /],
  ['no messages', without('messages'), /^messages: /],
  ['an empty list of messages', { ...sound, messages: [] }, /^messages: /],
  ['nothing to be said', { ...sound, max_tokens: 0 }, /^max_tokens: /],
  ['more output than the model has', { ...sound, max_tokens: 128_001 }, /128001 > 128000/],
  ['part of a token', { ...sound, max_tokens: 1.5 }, /^max_tokens: /],
  ['an unknown field', { ...sound, max_token: 5 }, /^max_token: Extra inputs are not permitted/],
  ['a temperature', { ...sound, temperature: 0 }, /^temperature: Extra inputs/],
  ['a field of another API', { ...sound, prompt: 'hello' }, /^prompt: Extra inputs/],
  ['our own spelling of a mark', say(user([text('a', { cacheControl: '5m' })])), /cacheControl: Extra inputs/],
  ['an unknown field of a message', say({ ...user('a'), id: 'm1' }), /^messages\.0\.id: Extra inputs/],
  ['an unknown role', say({ role: 'tool', content: 'a' }), /^messages\.0\.role: /],
  ['an unknown block', say(user([{ type: 'note', text: 'a' }])), /^messages\.0\.content/],
  ['an assistant who begins', say(assistant('a'), user('b')), /first message must use the "user" role/],
  ['an assistant who ends', say(user('a'), assistant('b')), /prefill/],
  ['an empty message', say(user('')), /non-empty content/],
  ['a message without blocks', say(user([])), /non-empty content/],
  ['an empty block', say(user([text('')])), /must be non-empty/],
  ['half a character', say(user([text('half of it: \ud83d')])), /no low surrogate/],
  ['a blank block', say(user([text(' \n')])), /non-whitespace/],
  ['an empty block with a mark', say(user([text('', mark())])), /cache_control cannot be set for empty/],
  ['an empty system block', { ...sound, system: [text('')] }, /^system\.0: /],
  ['a call without a result', say(user('a'), assistant([use('t1')]), user('b')), /without `tool_result`.*t1/],
  ['a call at the end', say(user('a'), assistant([use('t1')])), /prefill/],
  [
    'one result for two calls',
    say(user('a'), assistant([use('t1'), use('t2')]), user([result('t1')])),
    /without `tool_result`.*: t2/,
  ],
  ['a result for nothing', say(user([result('t9')])), /unexpected `tool_use_id`.*t9/],
  [
    'a result for a call of an earlier turn',
    say(user('a'), assistant([use('t1')]), user([result('t1')]), assistant('b'), user([result('t1')])),
    /unexpected `tool_use_id`/,
  ],
  [
    'two results for one call',
    say(user('a'), assistant([use('t1')]), user([result('t1'), result('t1')])),
    /single result/,
  ],
  [
    'words before the result',
    say(user('a'), assistant([use('t1')]), user([text('here'), result('t1')])),
    /without `tool_result`/,
  ],
  [
    'the same id twice',
    say(user('a'), assistant([use('t1')]), user([result('t1')]), assistant([use('t1')]), user([result('t1')])),
    /ids must be unique/,
  ],
  ['a call by the user', say(user([use('t1')])), /can only be in `assistant`/],
  ['a result by the assistant', say(user('a'), assistant([result('t1')]), user('b')), /can only be in `user`/],
  ['an id with a space', say(user('a'), assistant([use('t 1')]), user([result('t 1')])), /^messages\.1\.content/],
  [
    'an input that is no object',
    say(user('a'), assistant([use('t1', { input: 'x' })]), user([result('t1')])),
    /input: /,
  ],
  [
    'calls without tools',
    { ...say(user('a'), assistant([use('t1')]), user([result('t1')])), tools: [] },
    /must define tools/,
  ],
  ['two tools of one name', { ...sound, tools: [read, read] }, /names must be unique/],
  ['a tool with a space in its name', { ...sound, tools: [{ ...read, name: 'Read file' }] }, /^tools\.0\.name/],
  ['a tool without a schema', { ...sound, tools: [{ name: 'Read' }] }, /^tools\.0\.input_schema/],
  ['a tool whose input is a list', { ...sound, tools: [{ ...read, input_schema: { type: 'array' } }] }, /input_schema/],
  [
    'the choice of a tool that is not there',
    { ...sound, tools: [read], tool_choice: { type: 'tool', name: 'Write' } },
    /not found/,
  ],
  ['a choice without tools', { ...sound, tool_choice: { type: 'auto' } }, /while providing tools/],
  ['five cache marks', say(user([1, 2, 3, 4, 5].map((n) => text(`part ${n}`, mark())))), /maximum of 4.*Found 5/],
  [
    'five cache marks in all places together',
    {
      ...say(user([text('a', mark()), text('b', mark())])),
      tools: [{ ...read, ...mark() }],
      system: [text('s', mark()), text('t', mark())],
    },
    /Found 5/,
  ],
  [
    'a mark that is kept longer than one before it',
    say(user([text('a', mark('5m')), text('b', mark('1h'))])),
    /must not come after/,
  ],
  ['a mark for a day', say(user([text('a', mark('1d'))])), /ttl/],
  ['a mark of another kind', say(user([text('a', { cache_control: { type: 'forever' } })])), /cache_control\.type/],
  [
    'thoughts that the server did not have',
    say(user('a'), assistant([{ type: 'thinking', thinking: 'x', signature: 'y' }, text('b')]), user('c')),
    /Invalid `signature`/,
  ],
  [
    'thoughts longer than the answer',
    { ...sound, thinking: { type: 'enabled', budget_tokens: 2000 } },
    /greater than `thinking/,
  ],
  [
    'too little thought',
    { ...sound, max_tokens: 5000, thinking: { type: 'enabled', budget_tokens: 10 } },
    /budget_tokens/,
  ],
  [
    'an open schema',
    { ...sound, output_config: { format: { type: 'json_schema', schema: { type: 'object', properties: {} } } } },
    /additionalProperties/,
  ],
  ['a blank stop sequence', { ...sound, stop_sequences: [' '] }, /stop_sequences/],
  ['too long a prompt', say(user('x'.repeat(4_100_000))), /prompt is too long/],
]
