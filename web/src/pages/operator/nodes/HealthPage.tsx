import { Anchor, Group } from '@mantine/core'
import { OperatorsOnly } from '../../../app/OperatorsOnly'
import { paths } from '../../../paths'
import { Link } from '../../../ui/Link'
import { PageHeader } from '../../../ui/PageHeader'
import classes from '../Operator.module.css'
import { BillCheck } from './BillCheck'
import { EngineLogs } from './EngineLogs'
import { Findings } from './Findings'
import { Gpus } from './Gpus'
import { Nodes } from './Nodes'
import { PlatformErrors } from './PlatformErrors'
import { Queues } from './Queues'

/** The panels, by their ids. */
const PARTS = [
  ['nodes', 'Nodes'],
  ['queues', 'Queues'],
  ['checks', 'Checks'],
  ['gpus', 'GPUs'],
  ['errors', 'Errors'],
  ['bills', 'Bills'],
  ['logs', 'Logs'],
] as const

export function HealthPage() {
  return (
    <OperatorsOnly title="Nodes and health">
      <PageHeader title="Nodes and health" description="Nodes, GPUs and checks, and what needs attention" />
      <Group component="nav" aria-label="On this page" gap="md" mb="md">
        {PARTS.map(([id, name]) => (
          <Anchor key={id} component={Link} href={paths.operatorHealth(id)} size="sm">
            {name}
          </Anchor>
        ))}
      </Group>
      <div className={classes.stack}>
        <Nodes />
        <Queues />
        <Findings />
        <Gpus />
        <PlatformErrors />
        <BillCheck />
        <EngineLogs />
      </div>
    </OperatorsOnly>
  )
}
