import type { Model } from '../../api/models'
import { CapabilityTable } from '../../ui/CapabilityTable'
import { knownRows } from '../../ui/capabilities'
import { Panel } from '../../ui/Panel'

/** What the engines of the model have shown. */
export function ModelCapabilities({ model }: { model: Model }) {
  const rows = knownRows(model.capabilities)
  if (rows.length === 0) return null
  return (
    <Panel title="Capabilities" description="As its engines have shown; what is not listed is not known">
      <CapabilityTable rows={rows} />
    </Panel>
  )
}
