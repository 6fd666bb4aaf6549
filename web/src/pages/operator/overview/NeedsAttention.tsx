import { Alert, Anchor, Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { findingsQuery, nodesQuery } from '../../../api/operator/nodes'
import { paths } from '../../../paths'
import { Link } from '../../../ui/Link'
import { attentionOf } from '../nodes/node-status'
import classes from '../Operator.module.css'

/** A banner if a node or a check needs the operator; nothing otherwise. */
export function NeedsAttention() {
  const nodes = useQuery(nodesQuery)
  const findings = useQuery(findingsQuery)
  const reasons = attentionOf(nodes.data ?? [], findings.data?.findings ?? [])
  if (reasons.length === 0) return null
  return (
    <Alert
      role="alert"
      color="var(--fb-warn)"
      variant="outline"
      icon={<IconAlertTriangle aria-hidden />}
      title={reasons.length === 1 ? '1 thing needs your attention' : `${reasons.length} things need your attention`}
    >
      <ul className={classes.reasons}>
        {reasons.map(({ where, what }) => (
          <li key={`${where} ${what}`}>
            {what}
            <Text size="sm" c="dimmed">
              {where}
            </Text>
          </li>
        ))}
      </ul>
      <Anchor component={Link} href={paths.operatorHealth()}>
        Open nodes and health
      </Anchor>
    </Alert>
  )
}
