import { Stack, Text } from '@mantine/core'
import type { OperatorModel } from '../../../api/operator/catalogue'
import { CapabilityTable } from '../../../ui/CapabilityTable'
import type { CapabilityRow } from '../../../ui/capabilities'
import { Panel } from '../../../ui/Panel'
import { Time } from '../../../ui/Time'

/** Why nothing is known. */
function reasonOf({ probe, replicas }: OperatorModel): string {
  if (probe === false) return 'Its servers are not probed.'
  if (replicas.length === 0) return 'Nothing is known: the model has no servers.'
  if (probe) return 'Nothing is known yet. Servers are probed once they respond.'
  return 'Nothing is known yet. Without a setting, only servers whose engine is a known kind are probed.'
}

/** What the engines of the model have shown when they were probed. */
export function ModelProbe({ model }: { model: OperatorModel }) {
  const rows = (model.capabilities ?? []) as CapabilityRow[]
  const isKnown = rows.some(({ support }) => support !== 'unknown')
  return (
    <Panel title="Capabilities" description="Found by a few small calls, which no workspace is billed for">
      <Stack gap="sm">
        {model.probeResult ? (
          <Text size="sm" c="dimmed">
            Probed <Time value={model.probeResult.at} />
            {model.probeResult.engineVersion ? `, version ${model.probeResult.engineVersion}` : ''}
            {model.probeResult.isComplete ? '' : '; not all calls were made, so it is repeated'}
          </Text>
        ) : null}
        {isKnown ? <CapabilityTable rows={rows} /> : <Text c="dimmed">{reasonOf(model)}</Text>}
      </Stack>
    </Panel>
  )
}
