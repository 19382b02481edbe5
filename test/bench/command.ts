/** A command from spawn to exit, as it is published: its help, and the MCP server whose client hangs up at once. */
import { cpSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../support/sources.ts'
import { runNode } from './daemon.ts'
import { inRounds, quantile, ratio } from './rounds.ts'
import type { Row } from './row.ts'

const ROUNDS = { full: 40, quick: 15 }

export const command: Row<'help' | 'mcp'> = {
  name: 'command',
  what: 'memoryd --help, and memoryd mcp without input, from spawn to exit',
  yardstick: 'node -e 0',
  goals: { help: { unit: '×', atMost: 3 }, mcp: { unit: '×', atMost: 3 } },

  run: async (bench) => {
    const home = bench.home()
    // Beside its sources, the command would run those.
    for (const file of ['package.json', 'client/cli/memoryd.js']) cpSync(join(projectRoot, file), join(home.dir, file))
    symlinkSync(join(projectRoot, 'dist'), join(home.dir, 'dist'))
    const memoryd = (argument: string) => () => runNode(home, join(home.dir, 'client/cli/memoryd.js'), argument)
    // Once unmeasured: fills the cache of compiled code.
    await memoryd('--help')()
    await memoryd('mcp')()

    const taken = await inRounds(ROUNDS[bench.pace], {
      node: () => runNode(home, '-e', '0'),
      help: memoryd('--help'),
      mcp: memoryd('mcp'),
    })
    return {
      figures: { help: ratio(taken.help, taken.node, 0.5), mcp: ratio(taken.mcp, taken.node, 0.5) },
      details: {
        nodeMs: quantile(taken.node.flat(), 0.5),
        helpMs: quantile(taken.help.flat(), 0.5),
        mcpMs: quantile(taken.mcp.flat(), 0.5),
      },
    }
  },
}
