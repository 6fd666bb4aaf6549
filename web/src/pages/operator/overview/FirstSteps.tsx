import { Button, Paper, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { keyCountsQuery } from '../../../api/keys'
import { catalogueQuery, operatorModelsQuery } from '../../../api/operator/catalogue'
import { wasUsedQuery } from '../../../api/operator/installation'
import { useSessionContext } from '../../../api/session'
import { paths } from '../../../paths'
import { firstCall } from '../../../snippets/snippets'
import { CodeBlock } from '../../../ui/CodeBlock'
import { Link } from '../../../ui/Link'
import { Panel } from '../../../ui/Panel'
import { StatusBadge } from '../../../ui/StatusBadge'
import classes from '../Operator.module.css'
import { StarterModel } from './StarterModel'
import { offersStarter } from './starter'

const NO_WORKSPACE = ''

/** Three cards that lead from an empty installation to the first call, and stay away once it has arrived. */
export function FirstSteps() {
  const { workspace } = useSessionContext()
  const workspaceId = workspace?.id ?? NO_WORKSPACE
  const inWorkspace = { enabled: !!workspace }
  const models = useQuery(operatorModelsQuery)
  const catalogue = useQuery(catalogueQuery)
  const keys = useQuery({ ...keyCountsQuery(workspaceId), ...inWorkspace })
  const wasUsed = useQuery(wasUsedQuery)
  if (wasUsed.data !== false || !models.data || (workspace && !keys.data)) return null
  const hasModel = models.data.length > 0
  const hasKey = !!keys.data?.all
  const chat = models.data.find((model) => model.modality === 'chat' && model.enabled)?.id ?? 'the-model-of-step-1'
  return (
    <Panel title="First steps" description="From an empty installation to the first call">
      <ol className={classes.steps}>
        <Card number={1} title="Connect a model" isDone={hasModel}>
          <Text size="sm">Paste the address of a model server, or run a model on this machine.</Text>
          <Button component={Link} href={paths.addModel()} variant={hasModel ? 'default' : 'filled'} w="fit-content">
            Add model
          </Button>
          {catalogue.data && offersStarter(models.data, catalogue.data) ? (
            <StarterModel operatorPrefix={catalogue.data.operatorPrefix} />
          ) : null}
        </Card>
        <Card number={2} title="Create a key" isDone={hasKey}>
          <Text size="sm">
            {workspace ? `A key of ${workspace.name} authenticates calls.` : 'Choose a workspace at the top first.'}
          </Text>
          <Button
            component={Link}
            href={paths.keys()}
            variant={hasKey || !hasModel ? 'default' : 'filled'}
            w="fit-content"
          >
            API keys
          </Button>
        </Card>
        <Card number={3} title="Make the first call" isDone={false}>
          <Text size="sm">The call takes a few seconds to arrive here; then this panel is replaced by the charts.</Text>
          <CodeBlock code={firstCall(chat, 'chat')} label="First call" />
        </Card>
      </ol>
    </Panel>
  )
}

type CardProps = { number: number; title: string; isDone: boolean; children: ReactNode }

function Card({ number, title, isDone, children }: CardProps) {
  return (
    <li>
      <Paper p="md" className={classes.step} data-done={isDone || undefined}>
        <Stack gap={6} align="flex-start">
          <StatusBadge tone={isDone ? 'ok' : 'idle'}>{isDone ? 'Done' : `Step ${number}`}</StatusBadge>
          <Title order={3} fz="md">
            {title}
          </Title>
        </Stack>
        {children}
      </Paper>
    </li>
  )
}
