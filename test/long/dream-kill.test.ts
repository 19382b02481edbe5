import { it } from 'vitest'
import { killWhileDreaming } from '../support/dream-kills.ts'

it('a dream that is killed 200 times has happened or has not', () => killWhileDreaming(200))
