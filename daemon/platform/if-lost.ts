/**
 * Answers that leave something behind, a record of what was given: when one does not reach whoever asked, that is undone. It goes
 * along with the answer to whoever sends it.
 */
const UNDO = Symbol('undo')

type Undoable = { [UNDO]?: () => void }

export function withUndo<T extends object>(answer: T, undo: () => void): T {
  return Object.defineProperty(answer, UNDO, { value: undo, enumerable: false })
}

export function undoOf(answer: unknown): (() => void) | undefined {
  return typeof answer === 'object' && answer !== null ? (answer as Undoable)[UNDO] : undefined
}
