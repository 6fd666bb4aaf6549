import { useParams } from '@tanstack/react-router'
import { PageHeader } from '../../ui/PageHeader'

export function EndpointPage() {
  const { name = '' } = useParams({ strict: false })
  return <PageHeader title={name} />
}
