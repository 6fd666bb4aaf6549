import { Stack, Text } from '@mantine/core'
import type { OperatorModel } from '../../../api/operator/catalogue'
import { CapabilityTable } from '../../../ui/CapabilityTable'
import type { CapabilityRow } from '../../../ui/capabilities'
import { Panel } from '../../../ui/Panel'
import { Time } from '../../../ui/Time'

/** What the engines of the model have shown when they were asked. */
export function ModelProbe({ model }: { model: OperatorModel }) {
  const rows = (model.capabilities ?? []) as CapabilityRow[]
  const isKnown = rows.some(({ support }) => support !== 'unknown')
  return (
    <Panel title="Capabilities" description="Found by a few small calls, which no workspace is billed for">
      <Stack gap="sm">
        {model.probeResult ? (
          <Text size="sm" c="dimmed">
            Asked <Time value={model.probeResult.at} />
            {model.probeResult.engineVersion ? `, version ${model.probeResult.engineVersion}` : ''}
            {model.probeResult.isComplete ? '' : '; some questions had no response'}
          </Text>
        ) : null}
        {isKnown ? (
          <CapabilityTable rows={rows} />
        ) : (
          <Text c="dimmed">
            {model.probe ? 'Nothing is known yet. Servers are asked once they respond.' : 'Its servers are not asked.'}
          </Text>
        )}
      </Stack>
    </Panel>
  )
}
