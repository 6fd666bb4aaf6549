import { OperatorsOnly } from '../../../app/OperatorsOnly'
import { PageHeader } from '../../../ui/PageHeader'
import { FirstSteps } from './FirstSteps'

export function OverviewPage() {
  return (
    <OperatorsOnly title="Overview">
      <PageHeader title="Overview" description="This installation at a glance" />
      <FirstSteps />
    </OperatorsOnly>
  )
}
