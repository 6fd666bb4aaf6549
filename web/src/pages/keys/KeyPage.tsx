import { Anchor, Breadcrumbs, Button, Code, SimpleGrid, Stack, Text } from '@mantine/core'
import { IconPencil } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { type UsageLine, usageQuery } from '../../api/costs'
import { type KeyWithSpending, keyQuery } from '../../api/keys'
import { useSessionContext, useWorkspace } from '../../api/session'
import { paths } from '../../paths'
import { type Column, DataTable } from '../../ui/DataTable'
import { Facts } from '../../ui/Facts'
import { formatCount, formatMoney } from '../../ui/format'
import { Link } from '../../ui/Link'
import { Loaded } from '../../ui/Loaded'
import { monthOf, spanOf } from '../../ui/months'
import { PageHeader } from '../../ui/PageHeader'
import { Panel } from '../../ui/Panel'
import { pairTexts } from '../../ui/pairs'
import { PanelSkeleton, TableSkeleton } from '../../ui/Skeletons'
import { StatusBadge } from '../../ui/StatusBadge'
import { Time } from '../../ui/Time'
import { END_USER_COLUMNS } from '../costs/ByEndUser'
import { mostExpensiveFirst } from '../costs/ByModel'
import { BudgetBars } from './BudgetBars'
import { EditKey } from './EditKey'
import { keyActionBlocked, STATES } from './key-can'
import { limitsOf, modelLimitTexts } from './limits'
import { accessOf } from './restrictions'

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
        description={key.data ? <Code>{key.data.prefix}</Code> : null}
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
              <Settings apiKey={key} />
              <Panel title="Budgets" description="What the calls of this key may cost">
                {key.spending.length ? (
                  <BudgetBars spending={key.spending} />
                ) : (
                  <Text size="sm" c="dimmed">
                    No budget: only the limits of the workspace apply.
                  </Text>
                )}
              </Panel>
            </SimpleGrid>
            <UsageByModel keyId={key.id} workspaceId={workspace.id} />
            {key.trustsEndUser ? <UsageByEndUser keyId={key.id} workspaceId={workspace.id} /> : null}
          </Stack>
        )}
      </Loaded>
    </>
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

function Settings({ apiKey }: { apiKey: KeyWithSpending }) {
  const labels = pairTexts(apiKey.labels)
  const modelLimits = modelLimitTexts(apiKey)
  return (
    <Panel title="Settings">
      <Facts
        rows={[
          [
            'State',
            <StatusBadge key="state" tone={STATES[apiKey.state].tone}>
              {STATES[apiKey.state].label}
            </StatusBadge>,
          ],
          ['Access', accessOf(apiKey) ?? 'Everything'],
          ['Limits', limitsOf(apiKey) ?? 'Workspace limits'],
          ...(modelLimits.length ? [['Limits by model', modelLimits.join('; ')] as const] : []),
          ['End users', apiKey.trustsEndUser ? 'Named by its calls' : 'Not named'],
          ['Labels', labels.length ? labels.join(', ') : 'None'],
          ['Created', <Time key="created" value={apiKey.createdAt} />],
          ['Last used', <Time key="used" value={apiKey.lastUsedAt} />],
          ['Expires', <Time key="expires" value={apiKey.expiresAt} />],
        ]}
      />
    </Panel>
  )
}

const COLUMNS: Column<UsageLine>[] = [
  { id: 'model', header: 'Model', cell: (line) => line.model },
  { id: 'requests', header: 'Calls', align: 'right', cell: (line) => formatCount(line.requests) },
  {
    id: 'tokens',
    header: 'Tokens',
    align: 'right',
    cell: (line) => formatCount(line.promptTokens + line.completionTokens),
  },
  { id: 'cost', header: 'Cost', align: 'right', cell: (line) => formatMoney(line.costUsd) },
]

function UsageByModel({ keyId, workspaceId }: { keyId: string; workspaceId: string }) {
  const usage = useQuery(usageQuery(workspaceId, spanOf(monthOf(Date.now())), 'key,model'))
  return (
    <Panel title="This month by model">
      <Loaded query={usage} skeleton={<TableSkeleton />} errorTitle="The usage could not be loaded">
        {(report) => {
          const rows = report.data.filter((line) => line.key === keyId)
          return rows.length ? (
            <DataTable caption="Usage by model" columns={COLUMNS} rows={rows} rowKey={(line) => line.model ?? ''} />
          ) : (
            <Text size="sm" c="dimmed">
              No calls this month.
            </Text>
          )
        }}
      </Loaded>
    </Panel>
  )
}

/** The people whom calls of the key named. */
function UsageByEndUser({ keyId, workspaceId }: { keyId: string; workspaceId: string }) {
  const usage = useQuery(usageQuery(workspaceId, spanOf(monthOf(Date.now())), 'key,endUser'))
  return (
    <Panel title="This month by end user">
      <Loaded query={usage} skeleton={<TableSkeleton />} errorTitle="The usage could not be loaded">
        {(report) => {
          const rows = mostExpensiveFirst(report.data.filter((line) => line.key === keyId))
          return rows.length ? (
            <DataTable
              caption="Usage by end user"
              columns={END_USER_COLUMNS}
              rows={rows}
              rowKey={(line) => line.endUser ?? ''}
            />
          ) : (
            <Text size="sm" c="dimmed">
              No calls this month.
            </Text>
          )
        }}
      </Loaded>
    </Panel>
  )
}
