import { Alert, Anchor, Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { operatorModelsQuery } from '../../../api/operator/catalogue'
import { failedEndpointsQuery, findingsQuery, nodesQuery } from '../../../api/operator/nodes'
import { paths } from '../../../paths'
import { ErrorPanel } from '../../../ui/ErrorPanel'
import { Link } from '../../../ui/Link'
import { type Attention, attentionOf } from '../nodes/node-status'
import classes from '../Operator.module.css'

/** A banner if a node, a check, a model or an endpoint needs the operator, or cannot be loaded; nothing otherwise. */
export function NeedsAttention() {
  const nodes = useQuery(nodesQuery)
  const findings = useQuery(findingsQuery)
  const models = useQuery(operatorModelsQuery)
  const endpoints = useQuery(failedEndpointsQuery)
  const reasons = attentionOf(nodes.data ?? [], findings.data?.findings ?? [], models.data ?? [], endpoints.data ?? [])
  return (
    <>
      <NotLoaded query={nodes} title="The nodes could not be loaded" />
      <NotLoaded query={findings} title="The checks could not be loaded" />
      <NotLoaded query={models} title="The models could not be loaded" />
      <NotLoaded query={endpoints} title="The failed endpoints could not be loaded" />
      <Reasons reasons={reasons} />
    </>
  )
}

type Query = { data: unknown; error: unknown; refetch: () => unknown }

function NotLoaded({ query, title }: { query: Query; title: string }) {
  if (!query.error || query.data !== undefined) return null
  return <ErrorPanel error={query.error} title={title} onRetry={() => void query.refetch()} />
}

function Reasons({ reasons }: { reasons: readonly Attention[] }) {
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
        {reasons.map(({ where, what, href }) => (
          <li key={`${where} ${what}`}>
            {what}
            <Text size="sm" c="dimmed">
              {href ? (
                <Anchor component={Link} href={href} inherit>
                  {where}
                </Anchor>
              ) : (
                where
              )}
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
