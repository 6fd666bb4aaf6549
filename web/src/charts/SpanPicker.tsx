import { Button, SegmentedControl, TextInput } from '@mantine/core'
import { IconZoomReset } from '@tabler/icons-react'
import { FieldPrefix } from '../ui/FieldPrefix'
import classes from './charts.module.css'
import { fromLocalField, isZoomed, SPANS, type SpanName, type SpanValues, toLocalField } from './spans'

type Props = { values: SpanValues; change: (wish: Partial<SpanValues>) => void; withMoments?: boolean }

/** How much time is shown. What dragging does on a chart, the two fields do by keyboard. */
export function SpanPicker({ values, change, withMoments = false }: Props) {
  const zoomed = isZoomed(values)
  return (
    <div className={classes.span}>
      <SegmentedControl
        aria-label="Span"
        data={SPANS.map(({ value, label }) => ({ value, label }))}
        value={zoomed ? '' : values.span}
        onChange={(span) => change({ span: span as SpanName, from: '', to: '' })}
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
            onChange={(event) => change({ to: fromLocalField(event.currentTarget.value) })}
          />
        </>
      ) : null}
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
