import { Button, Divider, Group, Modal, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { allotmentsQuery, changeEndpoint, type Endpoint, endpointQuery, resumeEndpoint } from '../../../api/endpoints'
import { toApiError } from '../../../api/errors'
import { flavorsQuery } from '../../../api/models'
import { DialogButtons } from '../../../ui/DialogButtons'
import { useEndpointChange } from '../actions/useEndpointChange'
import { ChangeSummary } from '../allotment/ChangeSummary'
import { EndpointErrorPanel } from '../allotment/EndpointErrorPanel'
import { ScalingForm } from './ScalingForm'
import { boundsOf, fieldErrorsOf, scalingOf, toScaling } from './scaling'

type Props = { endpoint: Endpoint; opened: boolean; onClose: () => void }

export function ScaleDialog(props: Props) {
  const { endpoint, opened, onClose } = props
  return (
    <Modal opened={opened} onClose={onClose} size="lg" title={`Scale ${endpoint.name}`}>
      <Fields {...props} />
    </Modal>
  )
}

/** Edits the record as it was when the dialog was opened, so that a concurrent change is reported and not overwritten. */
function Fields({ endpoint: current, onClose }: Props) {
  const [read, setRead] = useState(current)
  const [fields, setFields] = useState(() => scalingOf(current))
  const allotments = useQuery(allotmentsQuery(current.workspaceId))
  const flavors = useQuery(flavorsQuery(current.workspaceId, current.model))
  const latest = useQuery(endpointQuery(current.workspaceId, current.name))
  const message = `${current.name} updated`
  const change = useEndpointChange(() => changeEndpoint(read, toScaling(fields)), message, onClose)
  const resume = useEndpointChange(
    () => resumeEndpoint(current.name, toScaling(fields)),
    `Starting ${current.name}`,
    onClose,
  )
  const isInvalid = Object.keys(fieldErrorsOf(fields)).length > 0
  const flavor = flavors.data?.find((one) => one.flavor === current.flavor)
  const isSuspended = current.state === 'suspended'
  const error = change.error ?? resume.error
  const isStale = error && toApiError(error).code === 'ENDPOINT_MODIFIED'
  const loadLatest = async () => {
    // The copy from polling may be older than the change that was reported.
    const { data, isSuccess } = await latest.refetch()
    if (!isSuccess) return
    setRead(data)
    setFields(scalingOf(data))
    change.reset()
  }
  return (
    <Stack gap="md">
      <ScalingForm fields={fields} onChange={setFields} defaultTarget={flavor?.defaultTarget ?? 16} />
      <Divider />
      {flavor ? (
        <ChangeSummary
          flavor={flavor}
          bounds={boundsOf(fields)}
          ledger={allotments.data?.find((line) => line.gpuType === flavor.gpuType)}
          released={read.committedGpus}
          commitsLater={isSuspended}
        />
      ) : null}
      {error ? (
        <EndpointErrorPanel
          error={error}
          title={isStale ? 'The endpoint was changed in the meantime' : 'Could not change the endpoint'}
          gpuCount={current.hardware.gpuCount}
          except={current.name}
        />
      ) : null}
      {isStale ? (
        <Group>
          <Button variant="default" onClick={loadLatest}>
            Load current values
          </Button>
          <Text size="sm" c="dimmed">
            This replaces your entries.
          </Text>
        </Group>
      ) : (
        <DialogButtons onCancel={onClose}>
          {isSuspended ? (
            <Button variant="default" disabled={isInvalid} loading={resume.isPending} onClick={() => resume.mutate()}>
              Save and resume
            </Button>
          ) : null}
          <Button disabled={isInvalid} loading={change.isPending} onClick={() => change.mutate()}>
            Save scaling
          </Button>
        </DialogButtons>
      )}
    </Stack>
  )
}
