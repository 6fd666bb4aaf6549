import { OperatorsOnly } from '../../../app/OperatorsOnly'
import { PageHeader } from '../../../ui/PageHeader'
import classes from '../Operator.module.css'
import { BillCheck } from './BillCheck'
import { EngineLogs } from './EngineLogs'
import { Findings } from './Findings'
import { Gpus } from './Gpus'
import { Nodes } from './Nodes'
import { PlatformErrors } from './PlatformErrors'

export function HealthPage() {
  return (
    <OperatorsOnly title="Nodes and health">
      <PageHeader title="Nodes and health" description="What runs this installation, and what needs you" />
      <div className={classes.stack}>
        <Nodes />
        <Findings />
        <Gpus />
        <PlatformErrors />
        <BillCheck />
        <EngineLogs />
      </div>
    </OperatorsOnly>
  )
}
