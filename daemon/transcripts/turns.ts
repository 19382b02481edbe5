/** The turns of a live chain: from what was asked to the final answer. Pure. */
import { present } from './fields.ts'
import type { By, End, Message, ToolCall, Usage } from './message.ts'
import { lastTotal, usageOf } from './usage.ts'

export type Turn = {
  /** `injected`: nobody asked; a task was done, or a command brought a prompt of its own. */
  startedBy: By
  /** The words of whoever began it. */
  prompt: string
  end: End | 'open'
  toolCalls: ToolCall[]
  /** Of all that was said and done, beginning with what began it. */
  messageIds: string[]
  usage: Usage
  startedAt?: number
  endedAt?: number
  cwd?: string
}

type Course = { messages: [Message, ...Message[]]; end: Turn['end']; endedAt: number | undefined }

export function turnsOf(chain: readonly Message[]): Turn[] {
  const courses = coursesOf(chain)
  let counted: Usage | undefined
  return courses.map((course, at) => {
    const usage = usageOf(course.messages, counted)
    counted = lastTotal(course.messages) ?? counted
    return turnOf(at === courses.length - 1 ? course : over(course), usage)
  })
}

function coursesOf(chain: readonly Message[]): Course[] {
  const courses: Course[] = []
  // What nobody said begins a turn only when an agent answers it.
  let pending: Message | undefined
  for (const message of chain) {
    const current = courses.at(-1)
    if (message.startsTurn && !goesOn(current, message)) {
      pending = message.by === 'injected' ? message : undefined
      if (!pending) courses.push(begun(message))
    } else if (!pending) {
      if (current) follow(current, message)
    } else if (message.by === 'agent') {
      const course = begun(pending)
      follow(course, message)
      courses.push(course)
      pending = undefined
    }
  }
  return courses
}

function begun(start: Message): Course {
  return { messages: [start], end: 'open', endedAt: undefined }
}

/** A notice, or a command beside it, is part of a turn that runs; so is what the harness counts to it. */
function goesOn(current: Course | undefined, { by, turnId }: Message): boolean {
  if (current?.end !== 'open') return false
  return by === 'injected' || (turnId !== undefined && turnId === current.messages[0].turnId)
}

/** An end is taken back when the agent goes on, as it does when a hook keeps it from stopping. */
function follow(course: Course, message: Message): void {
  course.messages.push(message)
  const works = message.by === 'agent' || message.by === 'tool'
  if (message.ends === undefined && !works) return
  course.end = message.ends ?? 'open'
  course.endedAt = message.ends && message.at
}

/** Another turn has begun: this one is finished if it seemed so, and else cut off. */
function over(course: Course): Course {
  if (course.end === 'settling') return { ...course, end: 'final' }
  return course.end === 'open' ? { ...course, end: 'aborted' } : course
}

function turnOf({ messages, end, endedAt }: Course, usage: Usage): Turn {
  const [start, ...rest] = messages
  const deeds = [start, ...rest.filter(({ by }) => by === 'person' || by === 'agent' || by === 'tool')]
  return present<Turn>({
    startedBy: start.by,
    prompt: start.text,
    end,
    toolCalls: deeds.flatMap(({ toolCalls }) => toolCalls),
    messageIds: deeds.flatMap(({ id }) => id ?? []),
    usage,
    startedAt: start.at,
    endedAt,
    cwd: start.cwd,
  })
}
