import { Button, SegmentedControl } from '@mantine/core'
import { IconZoomReset } from '@tabler/icons-react'
import { TimeField } from '../ui/TimeField'
import classes from './charts.module.css'
import { isFixed, isReversed, TIME_RANGES, type TimeRange, type TimeRangeName } from './time-range'
import { ZoneNote } from './ZoneNote'

type Props = { values: TimeRange; change: (changed: Partial<TimeRange>) => void; withMoments?: boolean }

/** Selects the time range. The two fields are the keyboard alternative to dragging on a chart. */
export function TimeRangePicker({ values, change, withMoments = false }: Props) {
  return (
    <div className={classes.range}>
      <SegmentedControl
        aria-label="Time range"
        data={TIME_RANGES.map(({ value, label }) => ({ value, label }))}
        value={isFixed(values) ? '' : values.span}
        onChange={(span) => change({ span: span as TimeRangeName, from: '', to: '' })}
      />
      {withMoments ? (
        <>
          <TimeField kind="time" label="From" prefix="From" value={values.from} onChange={(from) => change({ from })} />
          <TimeField
            kind="time"
            label="To"
            prefix="To"
            value={values.to}
            error={isReversed(values) ? 'Must be after From' : undefined}
            onChange={(to) => change({ to })}
          />
        </>
      ) : null}
      <ZoneNote className={classes.zone} />
      {values.to ? (
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
