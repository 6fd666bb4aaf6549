import { Autocomplete, Button, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useApiForm } from '../../../../api/form'
import { downloadsQuery, lookUpWeights, type OperatorWeights, weightsQuery } from '../../../../api/operator/weights'
import { ErrorPanel } from '../../../../ui/ErrorPanel'
import { Facts } from '../../../../ui/Facts'
import { formatBytes } from '../../../../ui/format'
import { Loaded } from '../../../../ui/Loaded'
import { Panel } from '../../../../ui/Panel'
import { PanelSkeleton } from '../../../../ui/Skeletons'
import { DownloadsPanel } from './DownloadsPanel'
import { FoundWeights } from './FoundWeights'

/** Finds weights on the hub or on this machine, downloads them, and runs them with the built-in engine. */
export function RunHere() {
  const sources = useQuery(weightsQuery)
  const downloads = useQuery(downloadsQuery)
  const {
    form,
    sending: lookUp,
    submit,
    error,
  } = useApiForm({
    initialValues: { reference: '' },
    send: ({ reference }) => lookUpWeights(reference.trim()),
    resetsOnEdit: true,
  })
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
              {...form.getInputProps('reference')}
            />
            <Loaded
              query={sources}
              skeleton={<PanelSkeleton height={96} />}
              errorTitle="The resources of this machine could not be loaded"
            >
              {(weights) => <Machine weights={weights} />}
            </Loaded>
            {error ? <ErrorPanel error={error} title="The model could not be looked up" /> : null}
            <Button type="submit" w="fit-content" loading={lookUp.isPending} disabled={!form.values.reference.trim()}>
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
          onUse={(reference) => {
            form.setValues({ reference })
            lookUp.mutate({ reference })
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
