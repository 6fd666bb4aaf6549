import { Alert, Button, Select, Stack } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import {
  type RunnableWeights,
  refreshDownloads,
  startDownload,
  type WeightsDownload,
  type WeightsLookup,
} from '../../../../api/operator/weights'
import { ErrorPanel } from '../../../../ui/ErrorPanel'
import { Facts } from '../../../../ui/Facts'
import { formatBytes, formatCount } from '../../../../ui/format'
import { Panel } from '../../../../ui/Panel'
import { StatusBadge } from '../../../../ui/StatusBadge'
import { suggestId } from '../fields'
import { contextOf, SUGGESTED_CONTEXT } from '../suggestions'
import { DownloadProgress } from './DownloadProgress'
import { downloadOf } from './downloads'
import { NewModelForm } from './NewModelForm'
import type { Found } from './new-model'

type Props = {
  lookup: WeightsLookup
  downloads: readonly WeightsDownload[]
  /** The node of this machine; `undefined` until it is known. */
  nodeId: string | undefined
}

/** What a reference leads to; the model that is chosen is downloaded and then added. */
export function FoundWeights({ lookup, downloads, nodeId }: Props) {
  const preferred = lookup.models.findLast(({ fits }) => fits) ?? lookup.models[0]
  const [weights, setWeights] = useState(preferred?.weights)
  const model = lookup.models.find((one) => one.weights === weights)
  if (!model) return <CannotRun why={lookup.problem} />
  const download = downloadOf(downloads, model.weights, nodeId)
  const isHere = download ? download.state === 'done' : model.missingBytes === 0
  return (
    <>
      <Panel title="2. What runs here">
        <Stack gap="md">
          <Select
            label="File"
            description="The largest that fits is chosen: it is the best one"
            data={lookup.models.map(({ weights, name, bytes }) => ({
              value: weights,
              label: `${name} (${formatBytes(bytes)})`,
            }))}
            value={model.weights}
            allowDeselect={false}
            searchable={lookup.models.length > 8}
            maw={640}
            onChange={(value) => value && setWeights(value)}
          />
          <Facts rows={factsOf(lookup, model)} />
          {lookup.gated ? (
            <Alert color="yellow" variant="outline" title="The owner has to grant access">
              Accept the conditions on the hub, and set HF_TOKEN for Forebay.
            </Alert>
          ) : null}
          {isHere ? (
            <div>
              <StatusBadge tone="ok">
                {download && nodeId && download.nodeId !== nodeId ? `On ${download.nodeId}` : 'On this machine'}
              </StatusBadge>
            </div>
          ) : download ? (
            <DownloadProgress download={download} />
          ) : (
            <StartDownload model={model} />
          )}
        </Stack>
      </Panel>
      {isHere ? (
        <NewModelForm key={model.weights} title="3. Name, prices and limits" found={foundModel(lookup, model)} />
      ) : null}
    </>
  )
}

const verdict = (key: string, { fits, why }: RunnableWeights['memory'], label: [string, string]) => (
  <span key={key}>
    <StatusBadge tone={fits ? 'ok' : 'warn'}>{fits ? label[0] : label[1]}</StatusBadge> {why}
  </span>
)

function factsOf(lookup: WeightsLookup, model: RunnableWeights): [string, React.ReactNode][] {
  const labels: [string, string] = ['Fits', 'Does not fit']
  return [
    ...(lookup.repository ? ([['License', lookup.license ?? 'not reported']] as [string, string][]) : []),
    ...(lookup.architecture ? ([['Architecture', lookup.architecture]] as [string, string][]) : []),
    ...(lookup.contextLength
      ? ([['Trained context', `${formatCount(lookup.contextLength)} tokens`]] as [string, string][])
      : []),
    ['Memory', verdict('memory', model.memory, labels)],
    ...(model.gpu ? ([['GPU', verdict('gpu', model.gpu, labels)]] as [string, React.ReactNode][]) : []),
    ['Disk', verdict('disk', model.disk, labels)],
  ]
}

function StartDownload({ model }: { model: RunnableWeights }) {
  const queries = useQueryClient()
  const start = useMutation({
    mutationFn: () => startDownload(model.weights),
    onSuccess: () => refreshDownloads(queries),
  })
  return (
    <>
      {start.error ? <ErrorPanel error={start.error} title="The download could not be started" /> : null}
      <Button w="fit-content" loading={start.isPending} disabled={!model.disk.fits} onClick={() => start.mutate()}>
        {`Download ${formatBytes(model.missingBytes)}`}
      </Button>
    </>
  )
}

function foundModel(lookup: WeightsLookup, model: RunnableWeights): Found {
  const stem = (model.name.split('/').pop() ?? '').replace(/\.gguf$/i, '').replace(/-00001-of-\d{5}$/, '')
  const owner = lookup.repository?.split('/')[0] ?? 'local'
  const embeds = model.modality === 'embedding'
  return {
    id: suggestId(embeds && lookup.repository ? lookup.repository : `${owner}/${stem}`),
    modality: embeds ? 'embedding' : 'chat',
    contextLength: embeds ? undefined : (contextOf(lookup, 'forebay-engine') ?? SUGGESTED_CONTEXT),
    engine: { weights: model.weights, replicas: 1, parallel: undefined, args: '' },
  }
}

const CannotRun = ({ why }: { why: string | null | undefined }) => (
  <Alert
    role="alert"
    color="red"
    variant="outline"
    icon={<IconAlertTriangle aria-hidden />}
    title="This cannot run with the built-in engine"
  >
    {why ?? 'No model was found.'}
  </Alert>
)
