import { it } from 'vitest'
import { killWhileJobsRun } from '../support/job-kills.ts'

it('does every job exactly once in effect through 8 kills', () => killWhileJobsRun(8))
