import { Autocomplete, Button, Stack } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { downloadsQuery, lookUpWeights, type OperatorWeights, weightsQuery } from '../../../../api/operator/weights'
import { ErrorPanel } from '../../../../ui/ErrorPanel'
import { Facts } from '../../../../ui/Facts'
import { formatBytes } from '../../../../ui/format'
import { Loaded } from '../../../../ui/Loaded'
import { Panel } from '../../../../ui/Panel'
import { PanelSkeleton } from '../../../../ui/Skeletons'
import { fieldErrors } from '../errors'
import { DownloadsPanel } from './DownloadsPanel'
import { FoundWeights } from './FoundWeights'

/** Finds weights on the hub or on this machine, downloads them, and runs them with the built-in engine. */
export function RunHere() {
  const [reference, setReference] = useState('')
  const sources = useQuery(weightsQuery)
  const downloads = useQuery(downloadsQuery)
  const lookUp = useMutation({ mutationFn: (text: string) => lookUpWeights(text.trim()) })
  const errors = fieldErrors(lookUp.error, ['reference'])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    lookUp.mutate(reference)
  }
  const choose = (text: string) => {
    lookUp.reset()
    setReference(text)
  }
  return (
    <>
      <form onSubmit={submit} noValidate>
        <Panel
          title="1. Weights"
          description="GGUF files, and BERT sentence models for embeddings, run with the built-in engine"
        >
          <Stack gap="md">
            <Autocomplete
              label="Model"
              description="On the Hugging Face hub: hf://owner/name or the address of its page. Or a file in the models folder"
              placeholder="hf://owner/name"
              required
              maw={640}
              autoComplete="off"
              spellCheck={false}
              data={sources.data?.files.map(({ path }) => path) ?? []}
              value={reference}
              error={errors.of('reference')}
              onChange={choose}
            />
            <Loaded
              query={sources}
              skeleton={<PanelSkeleton height={96} />}
              errorTitle="What this machine has could not be loaded"
            >
              {(weights) => <Machine weights={weights} />}
            </Loaded>
            {errors.rest ? <ErrorPanel error={errors.rest} title="The model could not be looked up" /> : null}
            <Button type="submit" w="fit-content" loading={lookUp.isPending} disabled={!reference.trim()}>
              Look up
            </Button>
          </Stack>
        </Panel>
      </form>
      {lookUp.data ? (
        <FoundWeights
          key={lookUp.submittedAt}
          lookup={lookUp.data}
          downloads={downloads.data ?? []}
          nodeId={sources.data?.nodeId}
        />
      ) : null}
      {downloads.error && !downloads.data ? (
        <ErrorPanel
          error={downloads.error}
          title="The downloads could not be loaded"
          onRetry={() => void downloads.refetch()}
        />
      ) : null}
      {downloads.data?.length ? (
        <DownloadsPanel
          downloads={downloads.data}
          // What was found says that the files are here.
          onDeleted={lookUp.reset}
          onUse={(weights) => {
            choose(weights)
            lookUp.mutate(weights)
          }}
        />
      ) : null}
    </>
  )
}

const sizeOf = (bytes: number | null | undefined) =>
  bytes === null || bytes === undefined ? 'unknown' : formatBytes(bytes)

function Machine({ weights: { machine, modelsFolder } }: { weights: OperatorWeights }) {
  const gpus = machine.gpus.map(
    (gpu) => `${gpu.gpuType}: ${formatBytes(gpu.freeMemoryBytes)} free of ${formatBytes(gpu.memoryBytes)}`,
  )
  return (
    <Facts
      rows={[
        ['Memory', `${sizeOf(machine.availableMemoryBytes)} available of ${sizeOf(machine.memoryBytes)}`],
        ['GPUs', gpus.length > 0 ? gpus.join(', ') : 'none'],
        ['Disk', `${sizeOf(machine.freeDiskBytes)} free`],
        ['Models folder', modelsFolder],
      ]}
    />
  )
}
