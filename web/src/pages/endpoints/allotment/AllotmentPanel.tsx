import { Skeleton, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { allotmentsQuery } from '../../../api/endpoints'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import classes from '../Endpoints.module.css'
import { AllotmentBar } from './AllotmentBar'
import { project } from './estimate'

/** What the organization may commit, by GPU type. */
export function AllotmentPanel({ workspaceId }: { workspaceId: string }) {
  const allotments = useQuery(allotmentsQuery(workspaceId))
  return (
    <Panel title="GPU allotment" description="What all endpoints of the organization commit, whether they run or not">
      <Loaded query={allotments} skeleton={<Skeleton h={48} />} errorTitle="The allotment could not be loaded">
        {(lines) =>
          lines.length === 0 ? (
            <Text c="dimmed">
              The organization has no GPUs allotted, so no endpoint can be created. Whoever runs this service sets it.
            </Text>
          ) : (
            <div className={classes.ledger}>
              {lines.map((line) => (
                <AllotmentBar key={line.gpuType} projection={project(line, 0)} />
              ))}
            </div>
          )
        }
      </Loaded>
    </Panel>
  )
}
