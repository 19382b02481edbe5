/** Fills real paths into the unit templates, escaped as each format asks. Pure. */
import { MemoryError } from '../../../schema/errors.ts'

type Paths = Record<'node' | 'main' | 'config' | 'state' | 'socket' | 'home', string>
/** `env`: variables of the user's shell that settings depend on; a service would not have them. */
export type UnitValues = Paths & { env: Record<string, string> }

export function fillSystemdUnit(template: string, values: UnitValues): string {
  refuseUnwritable(values)
  const { node, main, config, state, socket } = values
  if (/["'\\]/.test(node)) throw unwritable(node, 'systemd starts no program whose path has quotes or backslashes')
  // It would swallow the next line of the unit, the one that closes the socket to others.
  if (/[ \\]$/.test(socket)) throw unwritable(socket, 'use a path that ends in neither a space nor a backslash')
  return fill(template, {
    NODE: quoted(node),
    MAIN: argument(main),
    STATE: quoted(state),
    STATE_ARGUMENT: argument(state),
    HOME: quoted(values.home),
    // Not a list: the rest of the line is the path as it stands.
    SOCKET: socket.replaceAll('%', '%%'),
    ENV_CONFIG: quoted(`MEMORYD_CONFIG=${config}`),
    ENV_STATE: quoted(`MEMORYD_STATE_DIR=${state}`),
    ENV_SOCKET: quoted(`MEMORYD_SOCKET=${socket}`),
    ENV_MORE: Object.entries(values.env)
      .map(([name, value]) => ` ${quoted(`${name}=${value}`)}`)
      .join(''),
  })
}

export function fillPlist(template: string, values: UnitValues): string {
  refuseUnwritable(values)
  const { node, main, config, state, socket } = values
  return fill(template, {
    NODE: xml(node),
    MAIN: xml(main),
    CONFIG: xml(config),
    STATE: xml(state),
    SOCKET: xml(socket),
    ENV_MORE: Object.entries(values.env)
      .map(([name, value]) => `\n    <key>${xml(name)}</key>\n    <string>${xml(value)}</string>`)
      .join(''),
  })
}

function fill(template: string, values: Record<string, string>): string {
  return template.replace(/@([A-Z_]+)@/g, (whole, name: string) => values[name] ?? whole)
}

/** The node and the program that a unit of ours starts; empty where the unit was edited beyond recognition. */
export function startedBy(unit: string): string[] {
  const [, node, main] = /^ExecStart="((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"$/m.exec(unit) ?? []
  if (node !== undefined && main !== undefined)
    return [node, main.replaceAll('$$', '$')].map((word) => word.replace(/\\(.)|%(%)/g, '$1$2'))
  const [, ...words] =
    /<key>ProgramArguments<\/key>\s*<array>\s*<string>(.*)<\/string>\s*<string>(.*)<\/string>/.exec(unit) ?? []
  return words.map((word) => word.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'))
}

export function quoted(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')
  return `"${escaped}"`
}

/** Of a command: systemd would put variables in. */
function argument(text: string): string {
  return quoted(text).replaceAll('$', '$$$$')
}

export function xml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function refuseUnwritable(values: UnitValues): void {
  const { env, ...paths } = values
  for (const path of [...Object.values(paths), ...Object.values(env)])
    if (/\p{Cc}/u.test(path)) throw unwritable(path, 'use a path without control characters')
}

function unwritable(path: string, hint: string): MemoryError {
  return new MemoryError('SETUP', `a service file cannot name ${JSON.stringify(path)}`, { hint })
}
