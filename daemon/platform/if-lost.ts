/** The undo of what an answer recorded travels with the answer: its sender runs it when the client does not receive it. */
const UNDO = Symbol('undo')

type Undoable = { [UNDO]?: () => void }

export function withUndo<T extends object>(answer: T, undo: () => void): T {
  return Object.defineProperty(answer, UNDO, { value: undo, enumerable: false })
}

export function undoOf(answer: unknown): (() => void) | undefined {
  return typeof answer === 'object' && answer !== null ? (answer as Undoable)[UNDO] : undefined
}
