import type { Endpoint } from '../../api/endpoints'
import { StatusBadge } from '../../ui/StatusBadge'
import { endpointStateDisplay, humanize } from './states'

/** The state and, if any, its reason: "Provisioning · Cold start". */
export function EndpointStateBadge({
  endpoint,
}: {
  endpoint: Pick<Endpoint, 'state' | 'stateReason' | 'stateMessage'>
}) {
  const { tone, label, meaning } = endpointStateDisplay(endpoint.state)
  const isDegraded = endpoint.state === 'serving' && endpoint.stateReason === 'degraded'
  return (
    <StatusBadge tone={isDegraded ? 'warn' : tone} title={endpoint.stateMessage || meaning}>
      {endpoint.stateReason ? `${label} · ${humanize(endpoint.stateReason)}` : label}
    </StatusBadge>
  )
}
