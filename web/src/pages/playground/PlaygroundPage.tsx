import { PageHeader } from '../../ui/PageHeader'

export function PlaygroundPage() {
  return <PageHeader title="Playground" />
}
