import { StateBadge } from '../../ui/StateBadge'
import { statusOf } from './status'

export const ModelStatus = ({ status }: { status: string }) => <StateBadge state={statusOf(status)} />
