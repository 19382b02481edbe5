/** Composes the server: the routes with the parts that answer them, and the socket it listens on. */

import type { Ground } from '../ground.ts'
import type { Clock } from '../platform/clock.ts'
import { message } from '../platform/files.ts'
import type { GivingWay } from '../platform/giving-way.ts'
import type { Parts } from '../platform/parts.ts'
import { passedSocket } from '../platform/socket.ts'
import { createHandlers } from './answering.ts'
import { bindServer } from './binding.ts'
import { createEventStreams } from './event-stream.ts'
import { createServer } from './server.ts'

type Deps = Omit<Parameters<typeof createHandlers>[0], 'streams'> &
  Pick<Ground, 'events' | 'conditions' | 'disk' | 'log'> & { clock: Clock; parts: Parts; givingWay: GivingWay }

export async function startServing(deps: Deps): Promise<void> {
  const { events, conditions, disk, log, clock, parts, givingWay, ...answering } = deps
  const { places, env, company } = answering
  const streams = createEventStreams(events.subscribe, () => log.info('dropped an event reader that fell behind'))
  const server = await createServer({
    handlers: createHandlers({ ...answering, streams }),
    log,
    onDiskTrouble: (error) => disk.failed(message(error)),
    onAsked: givingWay.asked,
  })
  parts.add('server', (signal) => {
    streams.closeAll()
    company.mailbox.close()
    return server.close(signal)
  })
  const passed = passedSocket(env, process.pid)
  const binding = await bindServer({ server, path: places.socketPath, passed, clock, conditions, log })
  parts.add('binding', binding.stop)
}
