import { StatusBadge } from '../../ui/StatusBadge'
import { statusOf } from './status'

export function ModelStatus({ status }: { status: string }) {
  const { tone, label, meaning } = statusOf(status)
  return (
    <StatusBadge tone={tone} title={meaning}>
      {label}
    </StatusBadge>
  )
}
