import { Button, Group, Text } from '@mantine/core'
import { IconPlugConnectedX } from '@tabler/icons-react'
import { useSyncExternalStore } from 'react'
import { connectionLostAt, onConnectionChange, retryNow } from '../api/connection'
import { formatClock } from '../ui/format'
import classes from './Shell.module.css'

/** Shows that the gateway does not respond, so that old figures do not pass for current ones. Disappears by itself. */
export function ConnectionBanner() {
  const lostAt = useSyncExternalStore(onConnectionChange, connectionLostAt)
  if (lostAt === undefined) return null
  return (
    <Group role="alert" className={classes.connection} gap="sm" wrap="nowrap">
      <IconPlugConnectedX size={18} aria-hidden />
      <Text size="sm">Connection lost at {formatClock(lostAt)}, figures are not updated. Trying again.</Text>
      <Button variant="default" size="compact-sm" ms="auto" onClick={retryNow}>
        Try now
      </Button>
    </Group>
  )
}
