import { Skeleton, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { allotmentsQuery } from '../../../api/endpoints'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import classes from '../Endpoints.module.css'
import { AllotmentBar } from './AllotmentBar'
import { project } from './estimate'

/** GPU allotment of the organization by GPU type. */
export function AllotmentPanel({ workspaceId }: { workspaceId: string }) {
  const allotments = useQuery(allotmentsQuery(workspaceId))
  return (
    <Panel title="GPU allotment" description="GPUs committed by all endpoints of the organization, running or not">
      <Loaded query={allotments} skeleton={<Skeleton h={48} />} errorTitle="The allotment could not be loaded">
        {(lines) =>
          lines.length === 0 ? (
            <Text c="dimmed">
              The organization has no GPU allotment, so no endpoint can be created. Ask the operator for one.
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
