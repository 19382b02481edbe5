/** A history of three sessions, as two harnesses recorded it: who asked what, what was done, what was said. Data only. */

export type Turn = { asks: string; tool?: { name: string; input: string; result: string }; says: string }
export type Session = { harness: 'claude-code' | 'codex'; id: string; title: string; turns: Turn[] }

const listing = (name: string, lines: number) =>
  Array.from(
    { length: lines },
    (_, n) => `${name}:${n + 1}  const item${n} = cart.items[${n}] ?? emptyItem(${n})`,
  ).join('\n')

export const sessions: Session[] = [
  {
    harness: 'claude-code',
    id: 'd0000000-0000-4000-8000-000000000001',
    title: 'Monday, in Claude Code',
    turns: [
      {
        asks: 'From now on always run npm run lint before you commit.',
        says: 'Understood: lint first, then commit.',
      },
      {
        asks: 'Never deploy the shop from main, always from the release branch.',
        tool: { name: 'Bash', input: 'git branch --list', result: '* main\n  release' },
        says: 'Noted. Deploys go out from the release branch.',
      },
    ],
  },
  {
    harness: 'codex',
    id: 'd0000000-0000-4000-8000-000000000002',
    title: 'Tuesday, in Codex',
    turns: [
      {
        asks: 'Remember that the staging database is wiped every night at 02:00.',
        says: 'I will keep that in mind.',
      },
    ],
  },
  {
    harness: 'claude-code',
    id: 'd0000000-0000-4000-8000-000000000003',
    title: 'Wednesday, a long one in Claude Code',
    turns: Array.from({ length: 14 }, (_, n) => ({
      asks: [
        'The cart shows a wrong total in src/cart.ts, find out why.',
        'Fix rounding in src/money.ts, the currency is EUR with 2 decimals.',
        'Now add a test for an empty cart in test/cart.test.ts.',
        'The total for order 4711 must be 129.90, check that.',
      ][n % 4] as string,
      tool: {
        name: n % 2 === 0 ? 'Read' : 'Bash',
        input: n % 2 === 0 ? `src/cart.ts` : 'npm test -- cart',
        result: listing(n % 2 === 0 ? 'src/cart.ts' : 'test/cart.test.ts', 150),
      },
      says: `Step ${n + 1} is done: the total is right for the cases so far.`,
    })),
  },
]
