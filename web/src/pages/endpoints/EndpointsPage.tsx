import { PageHeader } from '../../ui/PageHeader'

export function EndpointsPage() {
  return <PageHeader title="Endpoints" />
}
