import { Divider, Stack, Text } from '@mantine/core'
import type { Allotment } from '../../../api/endpoints'
import type { Flavor } from '../../../api/models'
import { formatMoney, formatPrice } from '../../../ui/format'
import classes from '../Endpoints.module.css'
import { AllotmentBar } from './AllotmentBar'
import { type Bounds, type Cost, committedBy, costOf, HOURS_OF_MONTH, project } from './estimate'

type Props = {
  flavor: Pick<Flavor, 'gpuType' | 'gpuCount' | 'pricePerGpuHour'>
  bounds: Bounds | undefined
  ledger: Allotment | undefined
  /** What the endpoint commits already. */
  released?: number
  /** A suspended endpoint commits nothing until it is resumed. */
  commitsLater?: boolean
}

/** What a wish commits, and what it costs for the hour and the month. */
export function ChangeSummary({ flavor, bounds, ledger, released = 0, commitsLater = false }: Props) {
  if (!bounds) return <Text c="dimmed">Fill in the replicas to see what they commit and cost.</Text>
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
            {bounds.most} × {flavor.gpuCount} {commitsLater ? 'once it is resumed' : ''}
          </Text>
        </dd>
        {cost ? <CostFacts cost={cost} /> : null}
        <dt>Price</dt>
        <dd>{formatPrice(flavor.pricePerGpuHour)} per GPU-hour</dd>
      </dl>
      <Text size="sm" c="dimmed">
        Billed for the GPU-hours that replicas hold, not for what is committed. A month is taken as{' '}
        {HOURS_OF_MONTH.toString()} hours.
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
