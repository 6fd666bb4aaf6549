import { Button, Code, Group, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { forgetNode, nodesQuery, type OperatorNode } from '../../../api/operator/nodes'
import { ConfirmDialog } from '../../../ui/ConfirmDialog'
import { type Column, DataTable } from '../../../ui/DataTable'
import { formatCount, formatDuration, formatShare } from '../../../ui/format'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { TableSkeleton } from '../../../ui/Skeletons'
import { StatusBadge } from '../../../ui/StatusBadge'
import { Time } from '../../../ui/Time'
import { problemsOf, statusOfNode } from './node-status'

/** Every node with its load and its distance to the store. */
export function Nodes() {
  const nodes = useQuery(nodesQuery)
  const [forgotten, setForgotten] = useState<OperatorNode>()
  return (
    <Panel
      title="Nodes"
      description="Each node reports every five seconds. The journal keeps usage until the store has it"
    >
      <Loaded query={nodes} skeleton={<TableSkeleton rows={2} />} errorTitle="The nodes could not be loaded">
        {(all) => (
          <DataTable
            caption="Nodes of the installation"
            columns={columns(setForgotten)}
            rows={all}
            rowKey={(node) => node.id}
            minWidth={1080}
          />
        )}
      </Loaded>
      <ForgetNode node={forgotten} onClose={() => setForgotten(undefined)} />
    </Panel>
  )
}

const SHORT_HASH = 8
const millis = (value: number | null | undefined) => (value == null ? '–' : formatDuration(value))
/** The clock may be behind the store's. */
const skew = (value: number | null | undefined) =>
  value == null ? '–' : `${value < 0 ? '−' : ''}${formatDuration(Math.abs(value))}`

const columns = (onForget: (node: OperatorNode) => void): Column<OperatorNode>[] => [
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
    // The rest describes the build.
    cell: (node) => <span title={node.report?.version}>{node.report?.version.split(' ')[0] ?? 'unknown'}</span>,
  },
  { id: 'started', header: 'Started', cell: (node) => <Time value={node.startedAt} /> },
  { id: 'seen', header: 'Seen', cell: (node) => <Time value={node.seenAt} /> },
  {
    id: 'calls',
    header: 'Calls now',
    align: 'right',
    cell: ({ report }) =>
      report ? `${formatCount(report.callsInFlight)}${report.heldCalls ? ` (${report.heldCalls} wait)` : ''}` : '–',
  },
  { id: 'store', header: 'Store', align: 'right', cell: (node) => millis(node.report?.storeLatencyMillis) },
  { id: 'redis', header: 'Redis', align: 'right', cell: (node) => millis(node.report?.redisLatencyMillis) },
  { id: 'skew', header: 'Clock skew', align: 'right', cell: (node) => skew(node.report?.clockSkewMillis) },
  {
    id: 'journal',
    header: 'Journal',
    align: 'right',
    cell: ({ report }) => (report ? formatShare(report.journal.waitingBytes / report.journal.maxBytes) : '–'),
  },
  {
    id: 'catalogue',
    header: 'Catalogue',
    cell: (node) => <Code title={node.catalogueHash}>{node.catalogueHash.slice(0, SHORT_HASH)}</Code>,
  },
  {
    id: 'actions',
    header: 'Actions',
    isActions: true,
    cell: (node) =>
      node.alive ? null : (
        <Button size="compact-sm" variant="default" aria-label={`Forget ${node.id}`} onClick={() => onForget(node)}>
          Forget
        </Button>
      ),
  },
]

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
