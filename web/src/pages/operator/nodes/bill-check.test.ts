import { describe, expect, it } from 'vitest'
import type { BilledReplica } from '../../../api/operator/nodes'
import { byDifference, formatDifference, totalOf } from './bill-check'

const tokens = (promptTokens: number) => ({ promptTokens, completionTokens: 1 })
const replica = (name: string, difference: number, overbilled = false): BilledReplica => ({
  replica: name,
  model: 'acme/tiny',
  nodes: [],
  billed: tokens(10),
  counted: tokens(10),
  unread: tokens(0),
  difference: tokens(difference),
  overbilled,
})

describe('the bill check', () => {
  it('lists replicas that were billed too much first, then by the size of the difference', () => {
    const listed = byDifference([replica('a', 5), replica('b', -500), replica('c', 2_000, true)])
    expect(listed.map((one) => one.replica)).toEqual(['c', 'b', 'a'])
  })

  it('shows the sign of a difference', () => {
    expect([1_200, 0, -3].map(formatDifference)).toEqual(['+1,200', '0', '-3'])
    expect(totalOf(tokens(4))).toBe(5)
  })
})
