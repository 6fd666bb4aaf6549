import { Group, Radio, Skeleton, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type Flavor, flavorsQuery } from '../../../api/models'
import { formatPrice } from '../../../ui/format'
import { Loaded } from '../../../ui/Loaded'
import { StatusBadge } from '../../../ui/StatusBadge'
import classes from '../Endpoints.module.css'

type Props = { workspaceId: string; model: string; value: string; onChange: (flavor: string) => void }

/** Selects a flavor of the model. Flavors that do not fit the allotment are marked. */
export function FlavorPicker({ workspaceId, model, value, onChange }: Props) {
  const flavors = useQuery(flavorsQuery(workspaceId, model))
  return (
    <Loaded query={flavors} skeleton={<Skeleton h={88} />} errorTitle="The flavors could not be loaded">
      {(all) =>
        all.length === 0 ? (
          <Text c="dimmed">This model is not offered on dedicated GPUs. Choose another model.</Text>
        ) : (
          <Radio.Group aria-label="Flavor" value={value} onChange={onChange}>
            <div className={classes.flavors}>
              {all.map((flavor) => (
                <FlavorCard key={flavor.flavor} flavor={flavor} />
              ))}
            </div>
          </Radio.Group>
        )
      }
    </Loaded>
  )
}

function FlavorCard({ flavor }: { flavor: Flavor }) {
  return (
    <Radio.Card className={classes.flavor} value={flavor.flavor} aria-label={flavor.flavor}>
      <Group wrap="nowrap" align="flex-start" gap="sm">
        <Radio.Indicator mt={2} />
        <div>
          <Text fw={550}>{flavor.flavor}</Text>
          <Text size="sm">
            {flavor.gpuCount} × {flavor.gpuType} per replica
          </Text>
          <Text size="sm" c="dimmed" mb={6}>
            {flavor.precision} on {flavor.engine}, {formatPrice(flavor.pricePerGpuHour)} per GPU-hour
          </Text>
          <Fit flavor={flavor} />
        </div>
      </Group>
    </Radio.Card>
  )
}

function Fit({ flavor }: { flavor: Flavor }) {
  if (flavor.fits == null) return <StatusBadge tone="idle">Allotment unknown</StatusBadge>
  if (!flavor.fits) return <StatusBadge tone="bad">Does not fit the allotment</StatusBadge>
  const count = flavor.replicasThatFit ?? 0
  return <StatusBadge tone="ok">{`${count} ${count === 1 ? 'replica fits' : 'replicas fit'}`}</StatusBadge>
}
