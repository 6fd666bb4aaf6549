import { useQuery } from '@tanstack/react-query'
import { currentOrganizationQuery } from '../../api/organizations'
import { Loaded } from '../../ui/Loaded'
import { Panel } from '../../ui/Panel'
import { PanelSkeleton } from '../../ui/Skeletons'
import { Stat, Stats } from '../../ui/Stat'
import { boundsOf } from './organization-bounds'

type Props = { organizationId: string; workspaces: number }

/** What the operator allows the organization. */
export function OrganizationBounds({ organizationId, workspaces }: Props) {
  const organization = useQuery(currentOrganizationQuery(organizationId))
  return (
    <Panel
      title="Limits of the organization"
      description="For all its workspaces together. Only the operator changes them"
    >
      <Loaded query={organization} skeleton={<PanelSkeleton height={60} />} errorTitle="The limits could not be loaded">
        {(data) => (
          <Stats>
            {boundsOf(data, workspaces).map((bound) => (
              <Stat key={bound.label} {...bound} />
            ))}
          </Stats>
        )}
      </Loaded>
    </Panel>
  )
}
