import { describe, expect, it } from 'vitest'
import { hasWords, nextSort, parseSort, sortRows } from './sorting'

describe('sorting', () => {
  it('parses the URL parameter', () => {
    expect(parseSort('-price')).toEqual({ column: 'price', descending: true })
    expect(parseSort('name')).toEqual({ column: 'name', descending: false })
  })
  it('reverses the order on the second click', () => {
    expect(nextSort('name', 'price')).toBe('price')
    expect(nextSort('price', 'price')).toBe('-price')
    expect(nextSort('-price', 'price')).toBe('price')
  })
  it('finds texts by words in any order', () => {
    expect([hasWords('Gemma 2B acme', '2b GEM'), hasWords('Gemma', 'llama')]).toEqual([true, false])
  })
  it('puts missing values last in both directions', () => {
    const rows = [{ at: 2 }, { at: null }, { at: 1 }]
    const order = (descending: boolean) => sortRows(rows, (row) => row.at, descending).map((row) => row.at)
    expect([order(false), order(true)]).toEqual([
      [1, 2, null],
      [2, 1, null],
    ])
  })
})
