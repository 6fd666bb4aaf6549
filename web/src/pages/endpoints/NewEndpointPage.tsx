import { PageHeader } from '../../ui/PageHeader'

export function NewEndpointPage() {
  return <PageHeader title="New endpoint" />
}
