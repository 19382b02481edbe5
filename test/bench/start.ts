/**
 * From spawn to the first answer. The yardstick is `node -e 0` from spawn to exit: what no start of a Node process
 * can avoid. It is a little hard on the daemon, since it runs no ES module (their loader alone is a quarter more), and
 * a little kind, since it includes the end of the process (about 1 ms); `bare` tells how far any server would get.
 */
import { type Home, runNode } from './daemon.ts'
import { inRounds, quantile, ratio } from './rounds.ts'
import type { Row } from './row.ts'
import type { Workbench } from './workbench.ts'

const ROUNDS = { full: 20, quick: 10 }

export const start: Row<'known' | 'new' | 'bare'> = {
  name: 'start',
  what: 'spawn to first answer (known or new HOME; a bare fastify)',
  yardstick: 'node -e 0',
  goals: { known: { unit: '×', atMost: 8 }, new: { unit: '×' }, bare: { unit: '×' } },

  run: async (bench) => {
    const known = bench.home()
    // Once unmeasured: makes the databases and today's backup, and fetches every file from disk.
    await startDaemonOnce(bench, known)
    await startBareOnce(bench, known)

    const taken = await inRounds(ROUNDS[bench.pace], {
      node: () => runNode(known, '-e', '0'),
      bare: () => startBareOnce(bench, known),
      known: () => startDaemonOnce(bench, known),
      new: () => startDaemonOnce(bench, bench.home()),
    })
    return {
      figures: {
        known: ratio(taken.known, taken.node, 0.5),
        new: ratio(taken.new, taken.node, 0.5),
        bare: ratio(taken.bare, taken.node, 0.5),
      },
      details: {
        nodeMs: quantile(taken.node.flat(), 0.5),
        bareMs: quantile(taken.bare.flat(), 0.5),
        knownMs: quantile(taken.known.flat(), 0.5),
        newMs: quantile(taken.new.flat(), 0.5),
      },
    }
  },
}

async function startDaemonOnce(bench: Workbench, home: Home): Promise<number[]> {
  const daemon = await bench.daemon(home)
  await daemon.stop()
  return [daemon.startMs]
}

async function startBareOnce(bench: Workbench, home: Home): Promise<number[]> {
  const bare = await bench.bareServer(home)
  await bare.stop()
  return [bare.startMs]
}
