/** What authors of harnesses import: `connect`, its types, the error class. */
import { ACTOR_HEADER, ENV_HEADER, encodeVariables } from '../schema/caller.ts'
import { findPlaces } from '../schema/rendezvous.ts'
import { type Autostart, type Client, createClient, createStarter, type StrictClient } from './client.ts'
import { createTransport } from './transport.ts'

export type ConnectOptions = {
  /** Where the daemon listens; by default where `memoryd` puts it for this environment. */
  socket?: string
  /** For every call that names none of its own. */
  deadlineMs?: number
  /** Throw when the daemon is away, slow or broken, instead of answering `undefined`. */
  strict?: boolean
  /** Who writes: `agent:<who>`; only the command line writes as `user`. */
  actor?: string
  /** Start the daemon when it is away: `true` runs `memoryd start`. */
  autostart?: boolean | Autostart
}

const DEFAULT_DEADLINE_MS = 2_000

/** Does no I/O: the first call connects. */
export function connect(options: ConnectOptions & { strict: true }): StrictClient
export function connect(options?: ConnectOptions): Client
export function connect(options: ConnectOptions = {}): Client {
  const { socket, deadlineMs = DEFAULT_DEADLINE_MS, strict = false, actor, autostart = false } = options
  const start: Autostart | false = autostart === true ? { command: ['memoryd', 'start'] } : autostart
  const transport = createTransport(() => socket ?? findPlaces(process.env).socketPath, {
    [ENV_HEADER]: encodeVariables(process.env),
    ...(actor && { [ACTOR_HEADER]: actor }),
  })
  return createClient(transport, start ? createStarter(start) : undefined, { strict, deadlineMs })
}

export { MemoryError } from '../schema/errors.ts'
export type { Autostart, CallOptions, Client, StrictClient } from './client.ts'
export type { FitInput, FitStep, Fitted } from './fit.ts'
