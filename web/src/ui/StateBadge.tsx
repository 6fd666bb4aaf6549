import { StatusBadge } from './StatusBadge'
import type { StateDisplay } from './states'

/** A state as a badge, with its meaning as tooltip. */
export const StateBadge = ({ state: { tone, label, meaning } }: { state: StateDisplay }) => (
  <StatusBadge tone={tone} title={meaning}>
    {label}
  </StatusBadge>
)
