import { OperatorsOnly } from '../../../app/OperatorsOnly'
import { PageHeader } from '../../../ui/PageHeader'
import classes from '../Operator.module.css'
import { FirstSteps } from './FirstSteps'
import { NeedsAttention } from './NeedsAttention'

export function OverviewPage() {
  return (
    <OperatorsOnly title="Overview">
      <PageHeader title="Overview" description="This installation at a glance" />
      <div className={classes.stack}>
        <NeedsAttention />
        <FirstSteps />
      </div>
    </OperatorsOnly>
  )
}
