/** `npm run campaign`: runs its parts one after the other for as long as they take, and prints a table. Runs when loaded. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startVitest } from 'vitest/node'
import type { CampaignOptions } from './part.ts'

/** `file`: `<file>.campaign.ts`, which reports rows of its own. */
const parts = [
  { name: 'kills', file: 'kills', what: 'random kill -9, at moments of all kinds and at file calls (10,000)' },
  { name: 'cuts', file: 'cuts', what: 'power cuts on an ext4 of its own, where there is root and a loop device (300)' },
  {
    name: 'faults',
    file: 'faults',
    what: 'each file call of each operation, failing once or for long, or the last one',
  },
  { name: 'growth', file: 'growth', what: 'n, 2n and 4n of everything that grows' },
  { name: 'hostile', file: 'hostile', what: 'requests, names, credentials, links and connections of hostile callers' },
] as const

const usage = `usage: npm run campaign -- [part…] [--rounds n] [--minutes n] [--seed n]

  part         only these; all of them without
  --rounds n   so many kills or cuts in place of a full run's; the other parts are always whole
  --minutes n  for so long: kills and cuts each
  --seed n     to repeat the same choices; which client comes first is up to the machine

parts:
${parts.map(({ name, what }) => `  ${name.padEnd(8)} ${what}`).join('\n')}
`

function fail(why: string): never {
  process.stderr.write(`campaign: ${why}\n\n${usage}`)
  process.exit(2)
}

function parse() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        rounds: { type: 'string' },
        minutes: { type: 'string' },
        seed: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    return fail((error as Error).message)
  }
}

const { values, positionals } = parse()
if (values.help) {
  process.stdout.write(usage)
  process.exit(0)
}
const number = (name: 'rounds' | 'minutes' | 'seed') => {
  const text = values[name]
  if (text !== undefined && !(Number(text) > 0)) fail(`--${name} needs a number above 0, not ${text}`)
  return text === undefined ? undefined : Number(text)
}
const unknown = positionals.filter((name) => !parts.some((part) => part.name === name))
if (unknown.length > 0) fail(`there is no part ${unknown.join(', ')}`)

const folder = mkdtempSync(join(tmpdir(), 'campaign-'))
const out = join(folder, 'rows.jsonl')
writeFileSync(out, '')
const campaign: CampaignOptions = {
  rounds: number('rounds'),
  minutes: number('minutes'),
  seed: number('seed') ?? Math.floor(Math.random() * 2 ** 31),
  out,
}
process.stdout.write(`seed ${campaign.seed}\n`)
const chosen = parts.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
const vitest = await startVitest(
  'test',
  chosen.map(({ file }) => `test/campaign/${file}.campaign.ts`),
  { config: 'test/campaign/vitest.config.ts', watch: false, provide: { campaign } },
)
await vitest.close()

type Told = { row: string; tried: number; failed: number; minutes: number; more: string }
const rows = readFileSync(out, 'utf8')
  .split('\n')
  .filter(Boolean)
  .map((line) => JSON.parse(line) as Told)
rmSync(folder, { recursive: true, force: true })
const line = ({ row, tried, failed, minutes, more }: Told) => `| ${row} | ${tried} | ${failed} | ${minutes} | ${more} |`
process.stdout.write(`\n| what | tried | failed | minutes | |\n|---|---|---|---|---|\n${rows.map(line).join('\n')}\n`)
