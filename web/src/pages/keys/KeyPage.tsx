import { Anchor, Breadcrumbs, Button, Code, Group, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core'
import { IconPencil } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { type UsageTotals, usageOfKeyQuery } from '../../api/costs'
import { type KeyWithSpending, keyQuery } from '../../api/keys'
import { useSessionContext, useWorkspace } from '../../api/session'
import { paths } from '../../paths'
import { Facts } from '../../ui/Facts'
import { formatCompact, formatCount, formatMoney } from '../../ui/format'
import { Link } from '../../ui/Link'
import { Loaded } from '../../ui/Loaded'
import { PageHeader } from '../../ui/PageHeader'
import { Panel } from '../../ui/Panel'
import { pairTexts } from '../../ui/pairs'
import { PanelSkeleton } from '../../ui/Skeletons'
import { Stat, Stats } from '../../ui/Stat'
import { StateBadge } from '../../ui/StateBadge'
import { Time } from '../../ui/Time'
import { BudgetBars } from './BudgetBars'
import { EditKey } from './EditKey'
import { KeyUsage } from './KeyUsage'
import { keyActionBlocked, STATES } from './key-can'
import { limitsOf, modelLimitTexts } from './limits'
import { permissionsText } from './restrictions'

/** What a key may do, what it has spent and what is left of its budgets. */
export function KeyPage() {
  const { keyId = '' } = useParams({ strict: false })
  const workspace = useWorkspace()
  const key = useQuery(keyQuery(workspace.id, keyId))
  return (
    <>
      <Breadcrumbs mb="xs">
        <Anchor component={Link} href={paths.keys()}>
          API keys
        </Anchor>
        <span>{key.data?.name ?? keyId}</span>
      </Breadcrumbs>
      <PageHeader
        title={key.data?.name ?? 'API key'}
        description={key.data ? <Identity apiKey={key.data} /> : null}
        actions={key.data ? <Edit apiKey={key.data} workspaceId={workspace.id} /> : null}
      />
      <Loaded
        query={key}
        skeleton={<PanelSkeleton height={240} />}
        errorTitle="This key cannot be shown"
        list={{ href: paths.keys(), label: 'Show all keys' }}
      >
        {(key) => (
          <Stack gap="md">
            <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
              <Permissions apiKey={key} />
              <Spending apiKey={key} workspaceId={workspace.id} />
            </SimpleGrid>
            <KeyUsage keyId={key.id} workspaceId={workspace.id} by="model" />
            {key.trustsEndUser ? <KeyUsage keyId={key.id} workspaceId={workspace.id} by="endUser" /> : null}
          </Stack>
        )}
      </Loaded>
    </>
  )
}

function Identity({ apiKey: { prefix, state } }: { apiKey: KeyWithSpending }) {
  return (
    <Group gap="xs" mt={4}>
      <Code>{prefix}</Code>
      <StateBadge state={STATES[state]} />
    </Group>
  )
}

function Edit({ apiKey, workspaceId }: { apiKey: KeyWithSpending; workspaceId: string }) {
  const { session, isAdmin } = useSessionContext()
  const [isOpen, setOpen] = useState(false)
  if (keyActionBlocked('edit', apiKey, { userId: session.user.id, isAdmin })) return null
  return (
    <>
      <Button variant="default" leftSection={<IconPencil size={16} />} onClick={() => setOpen(true)}>
        Edit
      </Button>
      <EditKey apiKey={isOpen ? apiKey : undefined} workspaceId={workspaceId} onClose={() => setOpen(false)} />
    </>
  )
}

/** What the key may do. */
function Permissions({ apiKey }: { apiKey: KeyWithSpending }) {
  const labels = pairTexts(apiKey.labels)
  const modelLimits = modelLimitTexts(apiKey)
  return (
    <Panel title="What it may do">
      <Facts
        rows={[
          ['Permissions', permissionsText(apiKey)],
          ['Models', apiKey.allowedModels?.join(', ') ?? 'All models'],
          ['Addresses', apiKey.allowedIps?.join(', ') ?? 'From anywhere'],
          ['Limits', limitsOf(apiKey) ?? 'Workspace limits'],
          ...(modelLimits.length ? [['Limits by model', modelLimits.join('; ')] as const] : []),
          ['End users', apiKey.trustsEndUser ? 'Named by its calls' : 'Not named'],
          ['Labels', labels.join(', ') || 'None'],
          ['Created', <Time key="created" value={apiKey.createdAt} />],
          ['Last used', <Time key="used" value={apiKey.lastUsedAt} />],
          ['Expires', <Time key="expires" value={apiKey.expiresAt} />],
        ]}
      />
    </Panel>
  )
}

/** What the key has spent this month, and what is left of its budgets. */
function Spending({ apiKey, workspaceId }: { apiKey: KeyWithSpending; workspaceId: string }) {
  const usage = useQuery(usageOfKeyQuery(workspaceId, apiKey.id, 'model'))
  return (
    <Panel title="What it has spent" description="This month, and what is left of its budgets">
      <Stack gap="lg">
        <Loaded query={usage} skeleton={<Skeleton h={56} />} errorTitle="The usage could not be loaded">
          {({ total }) => <Totals total={total} />}
        </Loaded>
        {apiKey.spending.length ? (
          <BudgetBars budgets={apiKey.budgets} spending={apiKey.spending} />
        ) : (
          <Text size="sm" c="dimmed">
            No budget of its own: those of the workspace apply.
          </Text>
        )}
      </Stack>
    </Panel>
  )
}

function Totals({ total }: { total: UsageTotals }) {
  return (
    <Stats>
      <Stat label="Cost" value={formatMoney(total.costUsd)} />
      <Stat label="Calls" value={formatCount(total.requests)} />
      <Stat label="Tokens" value={formatCompact(total.promptTokens + total.completionTokens)} />
    </Stats>
  )
}
