/** Fills real paths into the unit templates, escaped as each format asks. Pure. */
import { MemoryError } from '../../../schema/errors.ts'

export type UnitValues = { node: string; main: string; config: string; state: string; socket: string }

export function fillSystemdUnit(template: string, values: UnitValues): string {
  refuseUnwritable(values)
  const { node, main, config, state, socket } = values
  return fill(template, {
    NODE: quoted(node),
    MAIN: quoted(main).replaceAll('$', '$$$$'),
    STATE: quoted(state),
    // Not a list: the rest of the line is the path as it stands.
    SOCKET: socket.replaceAll('%', '%%'),
    ENV_CONFIG: quoted(`MEMORYD_CONFIG=${config}`),
    ENV_STATE: quoted(`MEMORYD_STATE_DIR=${state}`),
    ENV_SOCKET: quoted(`MEMORYD_SOCKET=${socket}`),
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
  })
}

function fill(template: string, values: Record<string, string>): string {
  return template.replace(/@([A-Z_]+)@/g, (whole, name: string) => values[name] ?? whole)
}

function quoted(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')
  return `"${escaped}"`
}

function xml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function refuseUnwritable(values: UnitValues): void {
  for (const path of Object.values(values))
    if (/\p{Cc}/u.test(path))
      throw new MemoryError('SETUP', `a service file cannot name ${JSON.stringify(path)}`, {
        hint: 'use a path without control characters',
      })
}
