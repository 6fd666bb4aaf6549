import { Button, Code, Group, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { forgetNode, nodesQuery, type OperatorNode } from '../../../api/operator/nodes'
import { ConfirmDialog } from '../../../ui/ConfirmDialog'
import { type Column, DataTable } from '../../../ui/DataTable'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { TableSkeleton } from '../../../ui/Skeletons'
import { StatusBadge } from '../../../ui/StatusBadge'
import { Time } from '../../../ui/Time'
import { distancesOf, loadOf, problemsOf, statusOfNode } from './node-status'

/** Every node with its load and its distance to the store. */
export function Nodes() {
  const nodes = useQuery(nodesQuery)
  const [forgotten, setForgotten] = useState<OperatorNode>()
  return (
    <Panel
      id="nodes"
      title="Nodes"
      description="Each node reports every five seconds. The journal keeps usage until the store has it"
    >
      <Loaded query={nodes} skeleton={<TableSkeleton rows={2} />} errorTitle="The nodes could not be loaded">
        {(all) => (
          <DataTable
            caption="Nodes of the installation"
            columns={[...COLUMNS, ...(all.every(({ alive }) => alive) ? [] : [actions(setForgotten)])]}
            rows={all}
            rowKey={(node) => node.id}
            minWidth={820}
          />
        )}
      </Loaded>
      <ForgetNode node={forgotten} onClose={() => setForgotten(undefined)} />
    </Panel>
  )
}

const SHORT_HASH = 8

/** Short texts below each other: columns of their own would not fit a small laptop. */
const lines = (texts: readonly string[]) => (
  <Stack gap={0}>{texts.length > 0 ? texts.map((text) => <span key={text}>{text}</span>) : '–'}</Stack>
)

const COLUMNS: Column<OperatorNode>[] = [
  {
    id: 'node',
    header: 'Node',
    cell: (node) => (
      <Stack gap={4} align="flex-start">
        <Code>{node.id}</Code>
        <Group gap={6}>
          {node.leader ? <StatusBadge tone="busy">Leader</StatusBadge> : null}
          {node.self ? <StatusBadge tone="idle">This node</StatusBadge> : null}
        </Group>
      </Stack>
    ),
  },
  {
    id: 'status',
    header: 'Status',
    cell: (node) => {
      const { tone, label } = statusOfNode(node)
      return (
        <Stack gap={4} align="flex-start">
          <StatusBadge tone={tone}>{label}</StatusBadge>
          {problemsOf(node).map((problem) => (
            <Text key={problem} size="sm">
              {problem}
            </Text>
          ))}
        </Stack>
      )
    },
  },
  {
    id: 'version',
    header: 'Version',
    cell: (node) => (
      <Stack gap={4} align="flex-start">
        {/* The rest describes the build. */}
        <span title={node.report?.version}>{node.report?.version.split(' ')[0] ?? 'unknown'}</span>
        <Code title={`Catalogue ${node.catalogueHash}`}>{node.catalogueHash.slice(0, SHORT_HASH)}</Code>
      </Stack>
    ),
  },
  {
    id: 'seen',
    header: 'Seen',
    cell: (node) => (
      <Stack gap={0}>
        <Time value={node.seenAt} />
        <Text size="sm" c="dimmed">
          Started <Time value={node.startedAt} />
        </Text>
      </Stack>
    ),
  },
  { id: 'load', header: 'Load', cell: (node) => lines(loadOf(node)) },
  { id: 'distances', header: 'Latency', cell: (node) => lines(distancesOf(node)) },
]

const actions = (onForget: (node: OperatorNode) => void): Column<OperatorNode> => ({
  id: 'actions',
  header: 'Actions',
  isActions: true,
  cell: (node) =>
    node.alive ? null : (
      <Button size="compact-sm" variant="default" aria-label={`Forget ${node.id}`} onClick={() => onForget(node)}>
        Forget
      </Button>
    ),
})

function ForgetNode({ node, onClose }: { node: OperatorNode | undefined; onClose: () => void }) {
  const queries = useQueryClient()
  const forget = useMutation({
    mutationFn: (id: string) => forgetNode(id),
    onSuccess: onClose,
    onSettled: () => queries.invalidateQueries(nodesQuery),
  })
  return (
    <ConfirmDialog
      opened={!!node}
      onClose={() => {
        forget.reset()
        onClose()
      }}
      title="Forget node"
      action="Forget node"
      isPending={forget.isPending}
      error={forget.error}
      onConfirm={() => node && forget.mutate(node.id)}
    >
      Only forget a node that will not come back: its replicas are given up, and its leases return to the quota.
    </ConfirmDialog>
  )
}
