import type { Workspace } from '../../api/workspaces'
import { formatCount } from '../../ui/format'
import { Stat, Stats } from '../../ui/Stat'
import { FIELDS } from './limits'

/** Read-only view of the limits. */
export function LimitsView({ workspace }: { workspace: Workspace }) {
  return (
    <Stats>
      {FIELDS.map(({ name, label, unit }) => {
        const value = workspace[name]
        return (
          <Stat key={name} label={label} value={typeof value === 'number' ? formatCount(value) : value} note={unit} />
        )
      })}
    </Stats>
  )
}
