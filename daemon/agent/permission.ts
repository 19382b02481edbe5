/**
 * Decides what of that which a model asks for may happen, at the moment it asks: the tool list is the same for every job.
 * What it allows, it has taken apart and located; nothing that a model wrote is looked at as text again.
 */
import type { z } from 'zod'
import { isDeeperThan } from '../platform/value-depth.ts'
import { type Command, parseCommand } from './command.ts'
import { type Denied, quoted } from './denied.ts'
import type { Place, Places } from './places.ts'
import {
  type EditInput,
  type GlobInput,
  type GrepInput,
  inputOf,
  isTool,
  type ReadInput,
  type ToolName,
  type WriteInput,
} from './tools.ts'

/**
 * `memory`: reads what is in reach and changes memories (extraction, dream). `notes`: edits that one file, which the
 * places have as their only one. `nothing`: a summary is text.
 */
export type Policy = { may: 'memory' } | { may: 'notes'; file: string } | { may: 'nothing' }

export type Permitted =
  | { tool: 'Read'; place: Place; input: z.infer<typeof ReadInput> }
  | { tool: 'Grep'; place: Place; input: z.infer<typeof GrepInput> }
  | { tool: 'Glob'; place: Place; input: z.infer<typeof GlobInput> }
  | { tool: 'Bash'; command: Command; places: Place[] }
  | { tool: 'Edit'; place: Place; file: string; input: z.infer<typeof EditInput> }
  | { tool: 'Write'; place: Place; file: string; input: z.infer<typeof WriteInput> }

const CAP_INPUT_CHARS = 1_500_000
const CAP_LEVELS = 20

export function permit(policy: Policy, places: Places, name: string, input: unknown): Permitted | Denied {
  if (!isTool(name)) return { denied: `there is no tool ${quoted(name)} here` }
  const because = deniedByTable(policy, name)
  if (because) return { denied: because }
  if (isDeeperThan(input, CAP_LEVELS)) return { denied: `the input of ${name} is nested too deeply` }
  if (JSON.stringify(input ?? null).length > CAP_INPUT_CHARS) return { denied: `the input of ${name} is too large` }
  switch (name) {
    case 'Read':
      return parsed(name, input, (given) =>
        located(places.locate(given.file_path), (place) => ({ tool: name, place, input: given })),
      )
    case 'Grep':
      return parsed(name, input, (given) =>
        located(places.locate(given.path ?? '.'), (place) => ({ tool: name, place, input: given })),
      )
    case 'Glob':
      return parsed(name, input, (given) =>
        located(places.locate(given.path ?? '.'), (place) => ({ tool: name, place, input: given })),
      )
    case 'Bash':
      return parsed(name, input, ({ command }) => bash(places, command))
    case 'Edit':
      return parsed(name, input, (given) =>
        located(changeable(policy, places, given.file_path), (place) => ({
          tool: name,
          place,
          file: place.inMemory ?? '',
          input: given,
        })),
      )
    case 'Write':
      return parsed(name, input, (given) =>
        located(changeable(policy, places, given.file_path), (place) => ({
          tool: name,
          place,
          file: place.inMemory ?? '',
          input: given,
        })),
      )
  }
}

function deniedByTable({ may }: Policy, name: ToolName): string | undefined {
  if (may === 'nothing') return 'no tool may be used for this; answer with text'
  if (may === 'notes' && name !== 'Edit') return `${name} may not be used for this; only Edit of the notes file`
  return undefined
}

function parsed<N extends ToolName>(
  name: N,
  input: unknown,
  act: (given: z.infer<ReturnType<typeof inputOf<N>>>) => Permitted | Denied,
): Permitted | Denied {
  const { success, data, error } = inputOf(name).safeParse(input)
  if (success) return act(data as z.infer<ReturnType<typeof inputOf<N>>>)
  const [issue] = error.issues
  const where = issue?.path.join('.')
  return {
    denied: `the input of ${name} is not as it should be${where ? ` at ${quoted(where)}` : ''}: ${issue?.message}`,
  }
}

function located(place: Place | Denied, act: (place: Place) => Permitted): Permitted | Denied {
  return 'denied' in place ? place : act(place)
}

function changeable(policy: Policy, places: Places, asked: string): Place | Denied {
  const place = places.locateChange(asked)
  if ('denied' in place || policy.may !== 'notes' || place.inMemory === policy.file) return place
  return { denied: `${quoted(asked)} is not the notes file, and nothing else may be edited` }
}

function bash(places: Places, line: string): Permitted | Denied {
  const command = parseCommand(line)
  if ('denied' in command) return command
  const found: Place[] = []
  for (const path of command.paths) {
    const place = places.locate(path)
    if ('denied' in place) return place
    found.push(place)
  }
  return { tool: 'Bash', command, places: found }
}
