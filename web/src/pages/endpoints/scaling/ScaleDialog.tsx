import { Button, Divider, Group, Modal, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { allotmentsQuery, changeEndpoint, type Endpoint, endpointQuery, resumeEndpoint } from '../../../api/endpoints'
import { asFailure } from '../../../api/errors'
import { flavorsQuery } from '../../../api/models'
import { CLOSE, useEndpointChange } from '../actions/useEndpointChange'
import { ChangeSummary } from '../allotment/ChangeSummary'
import { EndpointErrorPanel } from '../allotment/EndpointErrorPanel'
import { ScalingForm } from './ScalingForm'
import { boundsOf, faultsOf, scalingOf, toScaling } from './scaling'

type Props = { endpoint: Endpoint; opened: boolean; onClose: () => void }

export function ScaleDialog(props: Props) {
  const { endpoint, opened, onClose } = props
  return (
    <Modal opened={opened} onClose={onClose} size="lg" title={`Scale ${endpoint.name}`} closeButtonProps={CLOSE}>
      <Fields {...props} />
    </Modal>
  )
}

/** The record as it was when the dialog was opened: a change by somebody else is told, not overwritten. */
function Fields({ endpoint: now, onClose }: Props) {
  const [read, setRead] = useState(now)
  const [fields, setFields] = useState(() => scalingOf(now))
  const allotments = useQuery(allotmentsQuery(now.workspaceId))
  const flavors = useQuery(flavorsQuery(now.workspaceId, now.model))
  const latest = useQuery(endpointQuery(now.workspaceId, now.name))
  const told = `${now.name} is changed`
  const change = useEndpointChange(() => changeEndpoint(read, toScaling(fields)), told, onClose)
  const resume = useEndpointChange(
    () => resumeEndpoint(now.name, toScaling(fields)),
    `${now.name} is being started`,
    onClose,
  )
  const isWrong = Object.keys(faultsOf(fields)).length > 0
  const flavor = flavors.data?.find((one) => one.flavor === now.flavor)
  const isSuspended = now.state === 'suspended'
  const failed = change.error ?? resume.error
  const isStale = failed && asFailure(failed).code === 'ENDPOINT_MODIFIED'
  const takeOver = () => {
    if (latest.data) {
      setRead(latest.data)
      setFields(scalingOf(latest.data))
    }
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
      {failed ? (
        <EndpointErrorPanel
          error={failed}
          title={isStale ? 'Somebody else changed it meanwhile' : 'Not changed'}
          gpuCount={now.hardware.gpuCount}
          except={now.name}
        />
      ) : null}
      {isStale ? (
        <Group>
          <Button variant="default" onClick={takeOver}>
            Show what it is now
          </Button>
          <Text size="sm" c="dimmed">
            Your entries are replaced by theirs.
          </Text>
        </Group>
      ) : (
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          {isSuspended ? (
            <Button variant="default" disabled={isWrong} loading={resume.isPending} onClick={() => resume.mutate()}>
              Save and resume
            </Button>
          ) : null}
          <Button disabled={isWrong} loading={change.isPending} onClick={() => change.mutate()}>
            Save scaling
          </Button>
        </Group>
      )}
    </Stack>
  )
}
