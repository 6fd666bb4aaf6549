import { Anchor } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { allotmentsQuery } from '../../api/endpoints'
import { UTILIZATIONS } from '../../charts/metrics'
import { paths } from '../../paths'
import { formatShare } from '../../ui/format'
import { Link } from '../../ui/Link'
import { Panel } from '../../ui/Panel'
import classes from './Costs.module.css'

/** Explains the three utilization metrics, which are easily confused. */
export function Utilizations({ workspaceId }: { workspaceId: string }) {
  const allotments = useQuery(allotmentsQuery(workspaceId))
  const { gpuBusy, kvCache, committedShare } = UTILIZATIONS
  return (
    <Panel
      title="Utilization metrics explained"
      actions={
        <Anchor component={Link} href={paths.observability({ by: 'endpoint' })} size="sm">
          Over time
        </Anchor>
      }
    >
      <dl className={classes.words}>
        {[gpuBusy, kvCache, committedShare].map(({ name, meaning }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{meaning}.</dd>
            {name === committedShare.name
              ? allotments.data?.map((line) => (
                  <dd key={line.gpuType} className={classes.now}>
                    <strong>{formatShare(line.utilization)}</strong> of {line.gpuType} now: {line.committed} of{' '}
                    {line.allotment} GPUs
                  </dd>
                ))
              : null}
          </div>
        ))}
      </dl>
    </Panel>
  )
}
