import { Button, Group, Progress, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import {
  cancelDownload,
  refreshDownloads,
  resumeDownload,
  type WeightsDownload,
} from '../../../../api/operator/weights'
import { ErrorPanel } from '../../../../ui/ErrorPanel'
import { StateBadge } from '../../../../ui/StateBadge'
import { canResume, isActive, nameOf, percentOf, progressOf, stateOf } from './downloads'

/** State and progress of a download, with what can be done about it. */
export function DownloadProgress({ download }: { download: WeightsDownload }) {
  const queries = useQueryClient()
  const onSuccess = () => refreshDownloads(queries)
  const cancel = useMutation({ mutationFn: () => cancelDownload(download.id), onSuccess })
  const resume = useMutation({ mutationFn: () => resumeDownload(download.id), onSuccess })
  const error = cancel.error ?? resume.error
  return (
    <Stack gap={6}>
      <Group gap="sm">
        <StateBadge state={stateOf(download.state)} />
        <Text size="sm">{progressOf(download)}</Text>
      </Group>
      <Progress value={percentOf(download)} aria-label={`Download of ${nameOf(download)}`} />
      {download.error ? <Text size="sm">{download.error}</Text> : null}
      {error ? <ErrorPanel error={error} title="The download could not be changed" /> : null}
      <Group gap="xs">
        {isActive(download) ? (
          <Button
            size="xs"
            variant="default"
            aria-label={`Cancel ${nameOf(download)}`}
            loading={cancel.isPending}
            onClick={() => cancel.mutate()}
          >
            Cancel
          </Button>
        ) : null}
        {canResume(download) ? (
          <Button
            size="xs"
            variant="default"
            aria-label={`Resume ${nameOf(download)}`}
            loading={resume.isPending}
            onClick={() => resume.mutate()}
          >
            Resume
          </Button>
        ) : null}
      </Group>
    </Stack>
  )
}
