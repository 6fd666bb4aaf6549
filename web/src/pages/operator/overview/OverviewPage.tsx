import { OperatorsOnly } from '../../../app/OperatorsOnly'
import { PageHeader } from '../../../ui/PageHeader'
import classes from '../Operator.module.css'
import { Consumers } from './Consumers'
import { FirstSteps } from './FirstSteps'
import { Load } from './Load'
import { NeedsAttention } from './NeedsAttention'
import { Summary } from './Summary'

export function OverviewPage() {
  return (
    <OperatorsOnly title="Overview">
      <PageHeader title="Overview" description="Traffic of this installation, and what needs attention" />
      <div className={classes.stack}>
        <NeedsAttention />
        <FirstSteps />
        <Summary />
        <Load />
        <Consumers />
      </div>
    </OperatorsOnly>
  )
}
