import type { Endpoint } from '../../api/endpoints'
import { StatusBadge } from '../../ui/StatusBadge'
import { inWords, lookOf } from './states'

/** The state, with its reason where there is one: "Provisioning · Cold start". */
export function EndpointStateBadge({
  endpoint,
}: {
  endpoint: Pick<Endpoint, 'state' | 'stateReason' | 'stateMessage'>
}) {
  const { tone, label, meaning } = lookOf(endpoint.state)
  const isDegraded = endpoint.state === 'serving' && endpoint.stateReason === 'degraded'
  return (
    <StatusBadge tone={isDegraded ? 'warn' : tone} title={endpoint.stateMessage || meaning}>
      {endpoint.stateReason ? `${label} · ${inWords(endpoint.stateReason)}` : label}
    </StatusBadge>
  )
}
