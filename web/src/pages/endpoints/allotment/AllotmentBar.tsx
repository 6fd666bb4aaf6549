import { Group, Text } from '@mantine/core'
import classes from './AllotmentBar.module.css'
import type { Projection } from './estimate'

/** The GPUs of one type: what is committed, what this change would add, and what stays free. */
export function AllotmentBar({ projection }: { projection: Projection }) {
  const { gpuType, allotment, committed, added, released, free, need } = projection
  const within = Math.max(0, Math.min(added, allotment - committed))
  const over = added - within
  const whole = Math.max(allotment, committed + added, 1)
  const width = (gpus: number) => ({ width: `${(gpus / whole) * 100}%` })
  const spoken = `${gpuType}: ${committed} committed${added ? `, ${added} by this endpoint` : ''}, ${free} free of ${allotment}`
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
      <div className={classes.bar} role="img" aria-label={spoken}>
        <div className={classes.committed} style={width(committed)} />
        <div className={classes.added} style={width(within)} />
        <div className={classes.over} style={width(over)} />
      </div>
      <div className={classes.legend} aria-hidden>
        <Key name="committed">{added || released ? `${committed} by other endpoints` : `${committed} committed`}</Key>
        {added > 0 ? (
          <Key name="added">{`${added} by this endpoint${released && released !== added ? ` (now ${released})` : ''}`}</Key>
        ) : null}
        {need > 0 ? <Key name="over">{`${need} too many`}</Key> : <Key>{`${free} free`}</Key>}
      </div>
    </div>
  )
}

function Key({ name, children }: { name?: 'committed' | 'added' | 'over'; children: string }) {
  return (
    <span className={classes.key}>
      <span className={`${classes.swatch} ${name ? classes[name] : ''}`} />
      {children}
    </span>
  )
}
