import { Divider, Stack, Text } from '@mantine/core'
import type { Allotment } from '../../../api/endpoints'
import type { Flavor } from '../../../api/models'
import { formatMoney, formatPrice } from '../../../ui/format'
import classes from '../Endpoints.module.css'
import { AllotmentBar } from './AllotmentBar'
import { type Bounds, type Cost, committedBy, costOf, HOURS_PER_MONTH, project } from './estimate'

type Props = {
  flavor: Pick<Flavor, 'gpuType' | 'gpuCount' | 'pricePerGpuHour'>
  bounds: Bounds | undefined
  ledger: Allotment | undefined
  /** GPUs that the endpoint commits before the change. */
  released?: number
  /** A suspended endpoint commits GPUs only once it is resumed. */
  commitsLater?: boolean
}

/** GPUs that a change commits, and its cost per hour and month. */
export function ChangeSummary({ flavor, bounds, ledger, released = 0, commitsLater = false }: Props) {
  if (!bounds) return <Text c="dimmed">Enter the number of replicas to see committed GPUs and cost.</Text>
  const gpus = committedBy(bounds, flavor.gpuCount)
  const cost = costOf(bounds, flavor)
  return (
    <Stack gap="sm">
      <dl className={classes.facts}>
        <dt>Commits</dt>
        <dd>
          <strong>
            {gpus} {gpus === 1 ? 'GPU' : 'GPUs'}
          </strong>{' '}
          <Text span size="sm" c="dimmed">
            {bounds.most} × {flavor.gpuCount} {commitsLater ? 'once resumed' : ''}
          </Text>
        </dd>
        {cost ? <CostFacts cost={cost} /> : null}
        <dt>Price</dt>
        <dd>{formatPrice(flavor.pricePerGpuHour)} per GPU-hour</dd>
      </dl>
      <Text size="sm" c="dimmed">
        You pay for GPU-hours held by replicas, not for committed GPUs. A month counts as {HOURS_PER_MONTH.toString()}{' '}
        hours.
      </Text>
      {ledger ? (
        <>
          <Divider />
          <AllotmentBar projection={project(ledger, gpus, released)} />
        </>
      ) : null}
    </Stack>
  )
}

function CostFacts({ cost }: { cost: Cost }) {
  const range = ([least, most]: [string, string]) =>
    least === most ? formatMoney(most) : `${formatMoney(least)} to ${formatMoney(most)}`
  return (
    <>
      <dt>Per hour</dt>
      <dd>
        <strong>{range(cost.hour)}</strong>
      </dd>
      <dt>Per month</dt>
      <dd>
        <strong>{range(cost.month)}</strong>
      </dd>
    </>
  )
}
