import { Button, List, Modal, NumberInput, Text } from '@mantine/core'
import { IconAdjustments, IconMessages, IconPlayerPause, IconPlayerPlay, IconTrash } from '@tabler/icons-react'
import { useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import { deleteEndpoint, type Endpoint, resumeEndpoint, suspendEndpoint } from '../../../api/endpoints'
import { paths } from '../../../paths'
import { ActionButton } from '../../../ui/ActionButton'
import { ConfirmByTyping } from '../../../ui/ConfirmByTyping'
import { ErrorPanel } from '../../../ui/ErrorPanel'
import { EndpointErrorPanel } from '../allotment/EndpointErrorPanel'
import { ScaleDialog } from '../scaling/ScaleDialog'
import { type Field, RANGES, resumedWith } from '../scaling/scaling'
import { endpointCan } from './can'
import { useEndpointChange } from './useEndpointChange'

type Dialog = 'scale' | 'suspend' | 'resume' | 'delete'

/** Buttons and dialogs for all actions on an endpoint. */
export function EndpointActions({ endpoint }: { endpoint: Endpoint }) {
  const [dialog, setDialog] = useState<Dialog>()
  const close = () => setDialog(undefined)
  const router = useRouter()
  return (
    <>
      <ActionButton
        variant="default"
        disabledReason={endpointCan.call(endpoint)}
        leftSection={<IconMessages size={16} />}
        onClick={() => router.history.push(paths.playground({ model: endpoint.modelId }))}
      >
        Playground
      </ActionButton>
      <ActionButton
        variant="default"
        disabledReason={endpointCan.scale(endpoint)}
        leftSection={<IconAdjustments size={16} />}
        onClick={() => setDialog('scale')}
      >
        Scale
      </ActionButton>
      {endpoint.state === 'suspended' || endpoint.state === 'failed' ? (
        <ActionButton
          disabledReason={endpointCan.resume(endpoint)}
          leftSection={<IconPlayerPlay size={16} />}
          onClick={() => setDialog('resume')}
        >
          Resume
        </ActionButton>
      ) : null}
      <ActionButton
        variant="default"
        disabledReason={endpointCan.suspend(endpoint)}
        leftSection={<IconPlayerPause size={16} />}
        onClick={() => setDialog('suspend')}
      >
        Suspend
      </ActionButton>
      <ActionButton
        variant="default"
        c={endpointCan.delete(endpoint) ? undefined : 'var(--fb-bad)'}
        disabledReason={endpointCan.delete(endpoint)}
        leftSection={<IconTrash size={16} />}
        onClick={() => setDialog('delete')}
      >
        Delete
      </ActionButton>
      <ScaleDialog endpoint={endpoint} opened={dialog === 'scale'} onClose={close} />
      <SuspendDialog endpoint={endpoint} opened={dialog === 'suspend'} onClose={close} />
      <ResumeDialog endpoint={endpoint} opened={dialog === 'resume'} onClose={close} />
      <DeleteDialog endpoint={endpoint} opened={dialog === 'delete'} onClose={close} />
    </>
  )
}

type DialogProps = { endpoint: Endpoint; opened: boolean; onClose: () => void }

function SuspendDialog({ endpoint, opened, onClose }: DialogProps) {
  const suspend = useEndpointChange(() => suspendEndpoint(endpoint.name), `${endpoint.name} suspended`, onClose)
  const gpus = endpoint.committedGpus
  return (
    <Modal opened={opened} onClose={onClose} title={`Suspend ${endpoint.name}?`}>
      <List size="sm" mb="md" spacing={4}>
        <List.Item>
          Its {gpus} committed {gpus === 1 ? 'GPU becomes' : 'GPUs become'} available to other endpoints immediately.
        </List.Item>
        <List.Item>Replicas finish their calls within two minutes; GPU-hours are counted until they end.</List.Item>
        <List.Item>New calls wait until it is resumed and time out with 504 after a few minutes.</List.Item>
        <List.Item>Resuming requires free GPUs in the allotment.</List.Item>
      </List>
      {suspend.error ? <ErrorPanel error={suspend.error} title="Could not suspend the endpoint" /> : null}
      <Button mt="sm" loading={suspend.isPending} onClick={() => suspend.mutate()} data-autofocus>
        Suspend endpoint
      </Button>
    </Modal>
  )
}

function ResumeDialog(props: DialogProps) {
  const { endpoint, opened, onClose } = props
  return (
    <Modal opened={opened} onClose={onClose} title={`Resume ${endpoint.name}?`}>
      <ResumeFields {...props} />
    </Modal>
  )
}

/** A separate component, so that a reopened dialog starts with the current number. */
function ResumeFields({ endpoint, onClose }: DialogProps) {
  const before = endpoint.replicas ?? endpoint.maxReplicas ?? 1
  const [most, setMost] = useState<Field>(before)
  const resume = useEndpointChange(
    () => resumeEndpoint(endpoint.name, resumedWith(endpoint, Number(most))),
    `Starting ${endpoint.name}`,
    onClose,
  )
  const gpus = Number(most) * endpoint.hardware.gpuCount
  const [fewest, mostAllowed] = RANGES.replicas
  const isValid = Number.isInteger(most) && Number(most) >= fewest && Number(most) <= mostAllowed
  return (
    <>
      <NumberInput
        label={endpoint.replicas == null ? 'Maximum replicas' : 'Replicas'}
        description={`It had ${before}. With fewer replicas it may fit into the allotment.`}
        value={most}
        min={fewest}
        max={mostAllowed}
        allowDecimal={false}
        allowNegative={false}
        onChange={(value) => setMost(value === '' ? '' : Number(value))}
        mb="sm"
      />
      <Text mb="md">
        It commits {gpus} {endpoint.hardware.gpuType} {gpus === 1 ? 'GPU' : 'GPUs'} again and starts its first replica.
      </Text>
      {resume.error ? (
        <EndpointErrorPanel
          error={resume.error}
          title="Could not resume the endpoint"
          gpuCount={endpoint.hardware.gpuCount}
          except={endpoint.name}
        />
      ) : null}
      <Button mt="sm" loading={resume.isPending} disabled={!isValid} onClick={() => resume.mutate()} data-autofocus>
        Resume endpoint
      </Button>
    </>
  )
}

function DeleteDialog({ endpoint, opened, onClose }: DialogProps) {
  const router = useRouter()
  const remove = useEndpointChange(
    () => deleteEndpoint(endpoint.name),
    `Deleting ${endpoint.name}`,
    () => {
      onClose()
      router.history.push(paths.endpoints())
    },
    true,
  )
  return (
    <ConfirmByTyping
      opened={opened}
      onClose={onClose}
      title={`Delete ${endpoint.name}?`}
      expected={endpoint.name}
      action="Delete endpoint"
      onConfirm={() => remove.mutate()}
      isPending={remove.isPending}
      error={remove.error ?? undefined}
    >
      Calls to <code>{endpoint.modelId}</code> return 404 from now on. Calls in progress finish within two minutes.
      GPU-hours already used stay on the bill. This cannot be undone.
    </ConfirmByTyping>
  )
}
