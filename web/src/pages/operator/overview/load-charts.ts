/** Charts of the whole installation. */

import { calls } from '../../../charts/metrics'
import type { SeriesChartStyle } from '../../../charts/SeriesChart'
import { formatShare } from '../../../ui/format'

export type LoadChart = 'calls' | 'tokens' | 'errors' | 'latency'

const chart = <T extends SeriesChartStyle>(style: T) => style

export const LOAD = {
  calls: chart({
    title: 'Calls per second',
    members: [{ member: 'count', label: 'Calls per second' }],
    formatValue: calls,
    isAmount: true,
    empty: 'No calls in this time range',
  }),
  tokens: chart({
    title: 'Tokens per second',
    members: [
      { member: 'prompt', label: 'Prompt', tone: 'blue' },
      { member: 'completion', label: 'Completion', tone: 'orange' },
    ],
    formatValue: calls,
    isAmount: true,
    empty: 'No tokens in this time range',
  }),
  errors: chart({
    title: 'Error rate',
    members: [{ member: 'mean', label: 'Failed calls', tone: 'red' }],
    formatValue: formatShare,
    total: (series) => {
      const rate = series.data[0]?.total.mean
      return rate == null ? '' : `${formatShare(rate)} of all calls`
    },
    empty: 'No calls in this time range',
  }),
} as const
