/** What every format answers, and how a line is opened for all of them. Does no I/O; nothing here throws. */
import type { HarnessName } from '../../schema/import.ts'
import { type Fields, parseLine } from './fields.ts'
import type { Fact } from './message.ts'

/** What the path of a transcript tells by itself; where its lines say otherwise, they are right. */
export type Described = { harness?: string; sessionId?: string; subAgent?: string }

/** Paths are relative to a root of the harness, with `/` between names. */
export type Adapter = {
  harness: HarnessName
  isTranscript(path: string): boolean
  /** Whether any can be below a folder, where the harness keeps other things beside them as well. */
  mayHold?(folder: string): boolean
  /** A line as no other harness writes it. The generic form knows only that it could be one of its own. */
  recognises(record: Fields): boolean
  describe(path: string): Described
  read(line: string): Fact[]
  /** For harnesses whose lines do not say where a session runs: files beside the transcripts that do. */
  folder?: {
    /** In the order in which they are to be believed. */
    files(path: string): string[]
    cwd(path: string, texts: ReadonlyMap<string, string>): string | undefined
  }
}

/** A line without anything is nothing; one that is no JSON object is broken. */
export function reader(interpret: (record: Fields) => Fact[]): Adapter['read'] {
  return (line) => {
    const record = parseLine(line)
    if (record) return interpret(record)
    return line.trim() === '' ? [] : [{ kind: 'broken' }]
  }
}
