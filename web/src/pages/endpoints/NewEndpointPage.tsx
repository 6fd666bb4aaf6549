import { Anchor, Breadcrumbs } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { modelsQuery } from '../../api/models'
import { useWorkspace } from '../../api/session'
import { paths } from '../../paths'
import { Link } from '../../ui/Link'
import { Loaded } from '../../ui/Loaded'
import { PageHeader } from '../../ui/PageHeader'
import { PanelSkeleton } from '../../ui/Skeletons'
import { NewEndpointForm } from './create/NewEndpointForm'

export function NewEndpointPage() {
  const workspace = useWorkspace()
  const models = useQuery(modelsQuery(workspace.id))
  return (
    <>
      <Breadcrumbs mb="xs">
        <Anchor component={Link} href={paths.endpoints()}>
          Endpoints
        </Anchor>
        <span>New</span>
      </Breadcrumbs>
      <PageHeader
        title="New endpoint"
        description="Run a model on dedicated GPUs: choose the model, its hardware, and how it scales"
      />
      <Loaded query={models} skeleton={<PanelSkeleton height={320} />} errorTitle="The models could not be loaded">
        {(all) => <NewEndpointForm models={all} workspaceId={workspace.id} />}
      </Loaded>
    </>
  )
}
