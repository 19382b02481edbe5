import { expect, it } from 'vitest'
import { sources } from '../support/sources.ts'

/** Habits of the code that no type checks: the rule, what breaks it, and where it may be broken. */
const habits: { rule: string; pattern: RegExp; where: RegExp; except?: string[] }[] = [
  {
    rule: 'process.env is read once, at an entry',
    pattern: /process\.env/,
    where: /./,
    except: ['daemon/main.ts', 'client/index.ts', 'client/hooks/hook.ts', 'client/cli/main.ts'],
  },
  {
    rule: 'only the clock reads the time and sets timers in the daemon: it takes the errors of what they run',
    pattern: /Date\.now|performance\.now|setTimeout|setInterval|setImmediate\([^)]/,
    where: /^daemon\/(?!platform\/clock\.ts)/,
  },
  {
    rule: 'what an event calls handles its own errors: no promise that the emitter drops',
    pattern: /\.(on|once|addEventListener)\('[^']+', async/,
    where: /^daemon\//,
  },
  { rule: 'no SQL in front of the services', pattern: /\.prepare\(/, where: /^(daemon\/(http|daemon)|client)/ },
  {
    rule: 'only the entries of processes exit',
    pattern: /process\.exit\(/,
    where: /./,
    except: ['daemon/main.ts', 'client/hooks/hook.ts', 'client/cli/main.ts'],
  },
  { rule: 'no URL outside the route table', pattern: /['"`]\/v1\//, where: /./, except: ['schema/route-table.ts'] },
  {
    rule: 'the client package has no dependency',
    pattern: /^import [^'"]*'(?!node:|\.)/m,
    where: /^client\/([^/]+|hooks\/.*)$/,
  },
  {
    rule: 'the client package loads no validators',
    pattern: /^import (?!type )[^'"]*'\.\.?\/schema\/(?!(caller|errors|rendezvous|route-table)\.ts)/m,
    where: /^client\/[^/]+$/,
  },
  {
    rule: 'a sentence names its actor',
    pattern: /\b(nobody|somebody|whoever|anybody)\b/i,
    // Word lists of the learner are what users write.
    where: /^(?!daemon\/extraction\/(rules\/|statements\.ts))/,
  },
]

const broken = (path: string, text: string) =>
  habits
    .filter(({ pattern, where, except }) => where.test(path) && !except?.includes(path) && pattern.test(text))
    .map(({ rule }) => `${path}: ${rule}`)

it('keeps the habits that no type checks', () => {
  expect(sources('schema', 'daemon', 'client').flatMap(({ path, text }) => broken(path, text))).toEqual([])
})

it.each([
  ['daemon/jobs/x.ts', 'const now = Date.now()'],
  ['daemon/recall/x.ts', 'setImmediate(() => work())'],
  ['daemon/platform/x.ts', 'setTimeout(work, 5)'],
  ['daemon/platform/x.ts', "watcher.on('all', async () => {})"],
  ['daemon/recall/x.ts', 'process.env.HOME'],
  ['client/x.ts', "import pc from 'picocolors'"],
  ['client/x.ts', "import { routes } from '../schema/routes.ts'"],
  ['daemon/http/x.ts', "db.prepare('SELECT 1')"],
  ['schema/x.ts', '/** Whoever reads this. */'],
])('notices in %s: %s', (path, text) => expect(broken(path, text)).toHaveLength(1))
