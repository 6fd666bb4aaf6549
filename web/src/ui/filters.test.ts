import { describe, expect, it } from 'vitest'
import { day, oneOf, readFilters, text, writeFilters } from './filters'

const filters = { q: text(), view: oneOf(['cards', 'table']), from: day() }

describe('readFilters', () => {
  it('reads valid values and uses defaults for the rest', () => {
    const search = { q: 'tiny', view: 'list', from: '2026-13-45', other: 'x' }
    expect(readFilters(filters, search)).toEqual({ q: 'tiny', view: 'cards', from: '' })
  })
  it('ignores values of other types', () => {
    expect(readFilters(filters, { q: ['a'], view: 7 })).toEqual({ q: '', view: 'cards', from: '' })
  })
})

describe('writeFilters', () => {
  it('omits defaults and keeps unknown parameters', () => {
    expect(writeFilters(filters, { q: 'tiny', view: 'table', tab: 'x' }, { view: 'cards' })).toEqual({
      q: 'tiny',
      tab: 'x',
    })
  })
  it('removes emptied filters', () => {
    expect(writeFilters(filters, { q: 'tiny' }, { q: '' })).toEqual({})
  })
})
