// @vitest-environment jsdom
import { screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { renderInConsole } from '../testing'
import { TimeRangePicker } from './TimeRangePicker'

const FROM = '2026-11-15T10:00:00.000Z'

it.each([
  ['offers to go back to now if the range has an end', '2026-11-15T10:05:00.000Z', 1],
  ['does not if it ends now already', '', 0],
])('%s', (_, to, offers) => {
  renderInConsole(<TimeRangePicker values={{ span: '1h', from: FROM, to }} change={() => {}} />)
  expect(screen.queryAllByRole('button', { name: 'Back to now' })).toHaveLength(offers)
})
