import { NumberInput, SegmentedControl, Select, Stack, Text } from '@mantine/core'
import classes from '../Endpoints.module.css'
import { DEFAULT_KV_TARGET, type Field, fieldErrorsOf, type Metric, RANGES, type ScalingFields } from './scaling'

type Props = { fields: ScalingFields; onChange: (fields: ScalingFields) => void; defaultTarget: number }

const MODES = [
  { value: 'auto', label: 'Autoscaled' },
  { value: 'fixed', label: 'Fixed' },
]
const METRICS = [
  { value: 'concurrency', label: 'Concurrent calls' },
  { value: 'kv-cache-utilization', label: 'KV-cache usage' },
]

/** Fields for a fixed number of replicas, or for autoscaling. */
export function ScalingForm({ fields, onChange, defaultTarget }: Props) {
  const errors = fieldErrorsOf(fields)
  const set = (change: Partial<ScalingFields>) => onChange({ ...fields, ...change })
  const number = (name: NumberName, label: string, description: string, range: readonly [number, number]) => (
    <NumberInput
      key={name}
      label={label}
      description={description}
      value={fields[name]}
      min={range[0]}
      max={range[1]}
      clampBehavior="none"
      allowNegative={false}
      suffix={name.endsWith('Secs') ? ' s' : undefined}
      error={errors[name]}
      onChange={(value) => set({ [name]: asField(value) })}
    />
  )
  return (
    <Stack gap="md">
      <SegmentedControl
        aria-label="Scaling"
        data={MODES}
        value={fields.mode}
        onChange={(mode) => set({ mode: mode as ScalingFields['mode'] })}
        style={{ alignSelf: 'flex-start' }}
      />
      {fields.mode === 'fixed' ? (
        <div className={classes.fields}>
          {number('replicas', 'Replicas', 'Constant, regardless of load', RANGES.replicas)}
        </div>
      ) : (
        <>
          <div className={classes.fields}>
            {number('min', 'Minimum replicas', '0 allows scaling to zero when idle', RANGES.min)}
            {number('max', 'Maximum replicas', 'Always committed', RANGES.max)}
            {fields.min === 0
              ? number('scaleToZeroSecs', 'Scale to zero after', 'Time without any call', RANGES.scaleToZeroSecs)
              : null}
          </div>
          <div className={classes.fields}>
            <Select
              label="Metric"
              description="What the autoscaler measures"
              allowDeselect={false}
              data={METRICS}
              value={fields.metric}
              onChange={(metric) => set(metricChange((metric ?? 'concurrency') as Metric, defaultTarget))}
            />
            <NumberInput
              label="Target"
              description={
                fields.metric === 'concurrency' ? 'Calls per replica' : 'Fraction of the cache, 0.10 to 0.95'
              }
              value={fields.target}
              step={fields.metric === 'concurrency' ? 1 : 0.05}
              decimalScale={fields.metric === 'concurrency' ? 0 : 2}
              clampBehavior="none"
              allowNegative={false}
              error={errors.target}
              onChange={(value) => set({ target: asField(value) })}
            />
            {number('scaleUpSecs', 'Scale up after', 'Time above the target', RANGES.scaleUpSecs)}
            {number('scaleDownSecs', 'Scale down after', 'Time below the target', RANGES.scaleDownSecs)}
          </div>
          {fields.min === 0 ? (
            <Text size="sm" c="dimmed">
              At zero nothing is billed, but the maximum stays committed. The first call starts a replica and waits for
              it.
            </Text>
          ) : null}
        </>
      )}
    </Stack>
  )
}

type NumberName = 'replicas' | 'min' | 'max' | 'scaleToZeroSecs' | 'scaleUpSecs' | 'scaleDownSecs'
const asField = (value: number | string): Field => (value === '' ? '' : Number(value))
const metricChange = (metric: Metric, defaultTarget: number) => ({
  metric,
  target: metric === 'concurrency' ? defaultTarget : DEFAULT_KV_TARGET,
})
