/** What a row works with. Owns every process and folder that was made for it, and clears them away. */
import { type Home, makeHome, type Server, startBareServer, startDaemon } from './daemon.ts'

export type Workbench = {
  /** Fewer rounds and shorter waits, for a first look. */
  pace: 'full' | 'quick'
  home(): Home
  daemon(home: Home): Promise<Server>
  /** Fastify's “hello” alone. */
  bareServer(home: Home): Promise<Server>
  close(): Promise<void>
}

export function createWorkbench({ pace }: { pace: Workbench['pace'] }): Workbench {
  const homes: Home[] = []
  const servers = new Set<Promise<Server>>()
  const keep = (starting: Promise<Server>): Promise<Server> => {
    servers.add(starting)
    return starting
  }
  return {
    pace,
    home: () => {
      const home = makeHome()
      homes.push(home)
      return home
    },
    daemon: (home) => keep(startDaemon(home)),
    bareServer: (home) => keep(startBareServer(home)),
    close: async () => {
      const started = await Promise.allSettled(servers)
      servers.clear()
      await Promise.all(started.map((server) => server.status === 'fulfilled' && server.value.stop()))
      for (const home of homes.splice(0)) home.remove()
    },
  }
}
