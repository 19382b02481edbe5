import { it } from 'vitest'
import { runSequences } from './tail-sequences.ts'

it('delivers each whole line once and in order, whatever happens to files and reader, in 5 histories', () =>
  runSequences(5))
