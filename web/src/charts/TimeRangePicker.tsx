import { Button, SegmentedControl, Text, TextInput } from '@mantine/core'
import { IconZoomReset } from '@tabler/icons-react'
import { FieldPrefix } from '../ui/FieldPrefix'
import classes from './charts.module.css'
import {
  fromLocalField,
  isReversed,
  isZoomed,
  TIME_RANGES,
  type TimeRange,
  type TimeRangeName,
  timeZone,
  toLocalField,
} from './time-range'

type Props = { values: TimeRange; change: (changed: Partial<TimeRange>) => void; withMoments?: boolean }

/** Selects the time range. The two fields are the keyboard alternative to dragging on a chart. */
export function TimeRangePicker({ values, change, withMoments = false }: Props) {
  const zoomed = isZoomed(values)
  return (
    <div className={classes.range}>
      <SegmentedControl
        aria-label="Time range"
        data={TIME_RANGES.map(({ value, label }) => ({ value, label }))}
        value={zoomed ? '' : values.span}
        onChange={(span) => change({ span: span as TimeRangeName, from: '', to: '' })}
      />
      {withMoments ? (
        <>
          <TextInput
            type="datetime-local"
            aria-label="From"
            leftSection={<FieldPrefix>From</FieldPrefix>}
            leftSectionWidth={52}
            value={toLocalField(values.from)}
            onChange={(event) => change({ from: fromLocalField(event.currentTarget.value) })}
          />
          <TextInput
            type="datetime-local"
            aria-label="To"
            leftSection={<FieldPrefix>To</FieldPrefix>}
            leftSectionWidth={36}
            value={toLocalField(values.to)}
            error={isReversed(values) ? 'Must be after From' : undefined}
            onChange={(event) => change({ to: fromLocalField(event.currentTarget.value) })}
          />
        </>
      ) : null}
      <Text size="sm" c="dimmed" className={classes.zone}>
        Times in {timeZone()}
      </Text>
      {zoomed ? (
        <Button
          variant="default"
          leftSection={<IconZoomReset size={16} />}
          onClick={() => change({ from: '', to: '' })}
        >
          Back to now
        </Button>
      ) : null}
    </div>
  )
}
