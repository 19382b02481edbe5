/**
 * Answers that leave a record behind, such as which memories were shown: the undo travels with the answer, and its sender runs
 * it when the client does not receive it.
 */
const UNDO = Symbol('undo')

type Undoable = { [UNDO]?: () => void }

export function withUndo<T extends object>(answer: T, undo: () => void): T {
  return Object.defineProperty(answer, UNDO, { value: undo, enumerable: false })
}

export function undoOf(answer: unknown): (() => void) | undefined {
  return typeof answer === 'object' && answer !== null ? (answer as Undoable)[UNDO] : undefined
}
