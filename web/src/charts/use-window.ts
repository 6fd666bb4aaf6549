import { useState } from 'react'
import type { Window } from '../api/series'
import { isUsable, type TimeRange, windowOf } from './time-range'

/** The window of a page: while the range cannot be used, that of the last one that could. */
export function useWindow(values: TimeRange): Window {
  const [last, keep] = useState(values)
  if (values !== last && isUsable(values)) keep(values)
  return windowOf(last)
}
