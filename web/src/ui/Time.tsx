import { formatAgo, formatTime } from './format'
import { useNow } from './useNow'

const TICK_MS = 30_000

/** Relative time, with the exact time as tooltip. */
export function Time({ value, fallback = 'never' }: { value: string | null | undefined; fallback?: string }) {
  const now = useNow(TICK_MS)
  if (!value) return <>{fallback}</>
  const exact = formatTime(value)
  return (
    <time dateTime={value} title={exact} style={{ whiteSpace: 'nowrap' }}>
      {formatAgo(value, now) ?? exact}
    </time>
  )
}
