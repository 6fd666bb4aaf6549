import { PageHeader } from '../../ui/PageHeader'

export function KeysPage() {
  return <PageHeader title="API keys" />
}
