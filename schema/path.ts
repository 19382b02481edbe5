import { z } from 'zod'

/** A file or folder as a caller names it: no name that a system could not have. */
export const AbsolutePath = z
  .string()
  .startsWith('/')
  .regex(/^[^\0\p{Cs}]*$/u, 'expected a path without NUL and broken characters')
  .max(4096)
