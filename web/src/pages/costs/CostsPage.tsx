import { PageHeader } from '../../ui/PageHeader'

export function CostsPage() {
  return <PageHeader title="Costs" />
}
