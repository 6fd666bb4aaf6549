import { Anchor, Breadcrumbs, Group, Stack } from '@mantine/core'
import { IconPlayerStop } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { type Batch, batchesOf, batchQuery, cancelBatch } from '../../api/batches'
import { useCallers } from '../../api/callers'
import { contentOf } from '../../api/files'
import { useOrganization, useWorkspace } from '../../api/session'
import { paths } from '../../paths'
import { ActionButton } from '../../ui/ActionButton'
import { ConfirmDialog } from '../../ui/ConfirmDialog'
import { CopyButton } from '../../ui/CopyButton'
import { DownloadLink } from '../../ui/DownloadLink'
import { Facts } from '../../ui/Facts'
import { formatCount, formatTime } from '../../ui/format'
import { Link } from '../../ui/Link'
import { Loaded } from '../../ui/Loaded'
import { Money } from '../../ui/Money'
import { PageHeader } from '../../ui/PageHeader'
import { Panel } from '../../ui/Panel'
import { pairTexts } from '../../ui/pairs'
import { PanelSkeleton } from '../../ui/Skeletons'
import { Stat, Stats } from '../../ui/Stat'
import { StateBadge } from '../../ui/StateBadge'
import { BatchProgress } from './BatchProgress'
import { FailedLines, Problems } from './FailedLines'
import { cancelBlocked, isoOf, stateOf } from './progress'

export function BatchPage() {
  const { id = '' } = useParams({ strict: false })
  const workspace = useWorkspace()
  const batch = useQuery(batchQuery(workspace.id, id))
  return (
    <>
      <Breadcrumbs mb="xs">
        <Anchor component={Link} href={paths.batches()}>
          Batches
        </Anchor>
        <span>{id}</span>
      </Breadcrumbs>
      <PageHeader
        title="Batch"
        description={<Identity id={id} batch={batch.data} />}
        actions={batch.data ? <Actions batch={batch.data} workspaceId={workspace.id} /> : null}
      />
      <Loaded
        query={batch}
        skeleton={<PanelSkeleton height={320} />}
        errorTitle="This batch cannot be shown"
        list={{ href: paths.batches(), label: 'Show all batches' }}
      >
        {(batch) => (
          <Stack gap="md">
            <Lines batch={batch} />
            {batch.errors?.data.length ? <Problems problems={batch.errors.data} /> : null}
            {batch.failing_lines.length ? <FailedLines lines={batch.failing_lines} /> : null}
            <About batch={batch} />
          </Stack>
        )}
      </Loaded>
    </>
  )
}

function Identity({ id, batch }: { id: string; batch: Batch | undefined }) {
  return (
    <Group gap="xs" mt={4}>
      <Group gap={4} wrap="nowrap">
        <code>{id}</code>
        <CopyButton value={id} label="Copy batch id" />
      </Group>
      {batch ? <StateBadge state={stateOf(batch.status)} /> : null}
    </Group>
  )
}

function Actions({ batch, workspaceId }: { batch: Batch; workspaceId: string }) {
  const queries = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const cancel = useMutation({
    mutationFn: () => cancelBatch(workspaceId, batch.id),
    onSuccess: () => setAsking(false),
    onSettled: () => queries.invalidateQueries(batchesOf(workspaceId)),
  })
  return (
    <>
      {batch.output_file_id ? (
        <DownloadLink href={contentOf(batch.output_file_id)} filename={`${batch.id}-output.jsonl`}>
          Output
        </DownloadLink>
      ) : null}
      {batch.error_file_id ? (
        <DownloadLink href={contentOf(batch.error_file_id)} filename={`${batch.id}-errors.jsonl`}>
          Errors
        </DownloadLink>
      ) : null}
      <ActionButton
        variant="default"
        leftSection={<IconPlayerStop size={16} />}
        disabledReason={cancelBlocked(batch)}
        onClick={() => setAsking(true)}
      >
        Cancel batch
      </ActionButton>
      <ConfirmDialog
        opened={isAsking}
        onClose={() => {
          cancel.reset()
          setAsking(false)
        }}
        title="Cancel batch"
        action="Cancel batch"
        isPending={cancel.isPending}
        error={cancel.error}
        onConfirm={() => cancel.mutate()}
      >
        Running lines end now, and what they have written is billed. Lines that have ended keep their results; the
        others do not run.
      </ConfirmDialog>
    </>
  )
}

function Lines({ batch }: { batch: Batch }) {
  const { usage, request_counts: counts } = batch
  const state = stateOf(batch.status)
  const { cached_tokens: cached = 0 } = usage?.input_tokens_details ?? {}
  const { reasoning_tokens: reasoning = 0 } = usage?.output_tokens_details ?? {}
  const partOf = (count: number, what: string) => (count ? `${formatCount(count)} ${what}` : undefined)
  return (
    <Panel title="Lines" description={state.meaning}>
      <Stack gap="md">
        <BatchProgress batch={batch} />
        <Stats>
          <Stat label="Succeeded" value={formatCount(counts?.completed ?? 0)} />
          <Stat label="Failed" value={formatCount(counts?.failed ?? 0)} isBad={!!counts?.failed} />
          <Stat label={state.tone === 'busy' ? 'Cost so far' : 'Cost'} value={<Money usd={batch.cost_usd} />} />
          <Stat label="Tokens in" value={formatCount(usage?.input_tokens ?? 0)} note={partOf(cached, 'cached')} />
          <Stat
            label="Tokens out"
            value={formatCount(usage?.output_tokens ?? 0)}
            note={partOf(reasoning, 'for reasoning')}
          />
        </Stats>
      </Stack>
    </Panel>
  )
}

const TIMES = [
  ['Created', 'created_at'],
  ['Started', 'in_progress_at'],
  ['All lines ended', 'finalizing_at'],
  ['Completed', 'completed_at'],
  ['Failed', 'failed_at'],
  ['Expired', 'expired_at'],
  ['Cancelling since', 'cancelling_at'],
  ['Cancelled', 'cancelled_at'],
  ['Lines run until', 'expires_at'],
] as const

function About({ batch }: { batch: Batch }) {
  const { nameOf } = useCallers(useWorkspace().id, useOrganization().id)
  const metadata = pairTexts(batch.metadata)
  const times = TIMES.flatMap(([label, name]) => {
    const at = isoOf(batch[name])
    return at ? [[label, formatTime(at)] as const] : []
  })
  return (
    <Panel title="About this batch">
      <Facts
        rows={[
          ['API', <code key="api">{batch.endpoint}</code>],
          ['Created by', nameOf(batch.created_by)],
          ['Model', batch.model ?? 'several, or not known yet'],
          ['Input file', batch.input_file_id ? <InputFile key="input" id={batch.input_file_id} /> : 'none'],
          ...times,
          ['Metadata', metadata.join(', ') || 'none'],
        ]}
      />
    </Panel>
  )
}

const InputFile = ({ id }: { id: string }) => (
  <Anchor href={contentOf(id)} download={`${id}.jsonl`} ff="monospace" size="sm">
    {id}
  </Anchor>
)
