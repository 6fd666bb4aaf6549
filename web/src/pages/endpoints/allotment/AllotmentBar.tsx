import { Group, Text } from '@mantine/core'
import classes from './AllotmentBar.module.css'
import type { Projection } from './estimate'

/** GPUs of one type: committed by others, committed by this endpoint, and free. */
export function AllotmentBar({ projection }: { projection: Projection }) {
  const { gpuType, allotment, committed, added, released, free, need } = projection
  const within = Math.max(0, Math.min(added, allotment - committed))
  const over = added - within
  const total = Math.max(allotment, committed + added, 1)
  const width = (gpus: number) => ({ width: `${(gpus / total) * 100}%` })
  const label = `${gpuType}: ${committed} committed${added ? `, ${added} by this endpoint` : ''}, ${free} free of ${allotment}`
  return (
    <div>
      <Group justify="space-between" gap="xs" mb={4} wrap="nowrap">
        <Text fw={550} truncate>
          {gpuType}
        </Text>
        <Text size="sm" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
          {allotment} {allotment === 1 ? 'GPU' : 'GPUs'} allotted
        </Text>
      </Group>
      <div className={classes.bar} role="img" aria-label={label}>
        <div className={classes.committed} style={width(committed)} />
        <div className={classes.added} style={width(within)} />
        <div className={classes.over} style={width(over)} />
      </div>
      <div className={classes.legend} aria-hidden>
        <LegendItem name="committed">
          {added || released ? `${committed} by other endpoints` : `${committed} committed`}
        </LegendItem>
        {added > 0 ? (
          <LegendItem name="added">{`${added} by this endpoint${released && released !== added ? ` (now ${released})` : ''}`}</LegendItem>
        ) : null}
        {need > 0 ? (
          <LegendItem name="over">{`${need} over the allotment`}</LegendItem>
        ) : (
          <LegendItem>{`${free} free`}</LegendItem>
        )}
      </div>
    </div>
  )
}

function LegendItem({ name, children }: { name?: 'committed' | 'added' | 'over'; children: string }) {
  return (
    <span className={classes.key}>
      <span className={`${classes.swatch} ${name ? classes[name] : ''}`} />
      {children}
    </span>
  )
}
