/** Composes the server: the routes with the parts that answer them, and the socket it listens on. */

import type { Core } from '../core.ts'
import { message } from '../platform/files.ts'
import { passedSocket } from '../platform/socket.ts'
import { createHandlers } from './answering.ts'
import { bindServer } from './binding.ts'
import { createEventStreams } from './event-stream.ts'
import { createServer } from './server.ts'

type Deps = Omit<Parameters<typeof createHandlers>[1], 'streams'>

export async function startServing(core: Core, answering: Deps): Promise<void> {
  const { places, env, events, health, disk, log, clock, lifecycle, givingWay } = core
  const { mail } = answering
  const streams = createEventStreams(events.subscribe, () => log.info('dropped an event reader that fell behind'))
  const server = await createServer({
    handlers: createHandlers(core, { ...answering, streams }),
    log,
    onDiskTrouble: (error) => disk.failed(message(error)),
    onAsked: givingWay.asked,
  })
  lifecycle.add('server', (signal) => {
    streams.closeAll()
    mail.close()
    return server.close(signal)
  })
  const passed = passedSocket(env, process.pid)
  const binding = await bindServer({ server, path: places.socketPath, passed, clock, health, log })
  lifecycle.add('binding', binding.stop)
}
