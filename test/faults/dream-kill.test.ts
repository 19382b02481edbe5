import { it } from 'vitest'
import { killWhileDreaming } from '../support/dream-kills.ts'

it('a dream that is killed has happened or has not', { timeout: 120_000 }, () => killWhileDreaming(3))
