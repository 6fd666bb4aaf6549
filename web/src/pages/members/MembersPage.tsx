import { PageHeader } from '../../ui/PageHeader'

export function MembersPage() {
  return <PageHeader title="Members" />
}
