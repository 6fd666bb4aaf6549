import { PageHeader } from '../../ui/PageHeader'

export function ObservabilityPage() {
  return <PageHeader title="Observability" />
}
