import { Anchor, Breadcrumbs, Button, Code, Group, Stack } from '@mantine/core'
import { IconMessages, IconServer2 } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { libraryQuery, type Model, modelQuery } from '../../api/models'
import { useSessionContext, useWorkspace } from '../../api/session'
import { ZoneNote } from '../../charts/ZoneNote'
import { paths } from '../../paths'
import { CopyButton } from '../../ui/CopyButton'
import { Link } from '../../ui/Link'
import { Loaded } from '../../ui/Loaded'
import { PageHeader } from '../../ui/PageHeader'
import { PanelSkeleton } from '../../ui/Skeletons'
import { useFilters } from '../../ui/useFilters'
import { ModelAliases } from './ModelAliases'
import { ModelCaching } from './ModelCaching'
import { ModelCapabilities } from './ModelCapabilities'
import { ModelCode } from './ModelCode'
import { ModelFlavors } from './ModelFlavors'
import { ModelLimits } from './ModelLimits'
import { LIVE_FILTERS, ModelLive } from './ModelLive'
import { ModelPrefillQueue } from './ModelPrefillQueue'
import { ModelPrices } from './ModelPrices'
import { ModelStatus } from './ModelStatus'
import classes from './Models.module.css'
import { ModelTags } from './ModelTags'

export function ModelPage() {
  const { provider = '', _splat: name = '' } = useParams({ strict: false })
  const id = `${provider}/${name}`
  const workspace = useWorkspace()
  const { isOperator } = useSessionContext()
  const model = useQuery(modelQuery(workspace.id, id))
  const [{ span }] = useFilters(LIVE_FILTERS)
  return (
    <>
      <Breadcrumbs mb="xs">
        <Anchor component={Link} href={paths.models()}>
          Model Library
        </Anchor>
        <span>{id}</span>
      </Breadcrumbs>
      <PageHeader
        title={model.data?.name ?? id}
        description={<ModelId id={id} model={model.data} />}
        actions={model.data ? <Actions model={model.data} /> : null}
      />
      <Loaded
        query={model}
        skeleton={<PanelSkeleton height={320} />}
        errorTitle="This model cannot be shown"
        list={{ href: paths.models(), label: 'Open the Model Library' }}
      >
        {(model) => (
          <div className={classes.columns}>
            <div className={classes.stack}>
              <ModelCode model={model} />
              {model.modality !== 'chat' ? null : <ModelCaching model={model} workspaceId={workspace.id} span={span} />}
              {isOperator ? <ModelPrefillQueue key={model.id} modelId={model.id} span={span} /> : null}
              <ZoneNote />
            </div>
            <div className={classes.stack}>
              <ModelLive model={model} workspace={workspace} />
              <ModelPrices model={model} />
              <ModelLimits model={model} workspace={workspace} />
              <ModelCapabilities model={model} />
              <ModelFlavors model={model} workspaceId={workspace.id} />
            </div>
          </div>
        )}
      </Loaded>
    </>
  )
}

function ModelId({ id, model }: { id: string; model: Model | undefined }) {
  const library = useQuery(libraryQuery(useWorkspace().id))
  return (
    <Stack gap={6} mt={4}>
      <Group gap="xs">
        <Group gap={4} wrap="nowrap">
          <Code fz="sm">{id}</Code>
          <CopyButton value={id} label="Copy Model ID" />
        </Group>
        {model ? (
          <>
            <ModelStatus status={model.status} />
            <ModelTags model={model} />
          </>
        ) : null}
      </Group>
      <ModelAliases aliases={library.data?.aliases.get(id)} />
    </Stack>
  )
}

function Actions({ model }: { model: Model }) {
  const tab = model.modality === 'embedding' ? 'embeddings' : undefined
  return (
    <>
      <Button
        component={Link}
        href={paths.newEndpoint({ model: model.id })}
        variant="default"
        leftSection={<IconServer2 size={16} />}
      >
        Create endpoint
      </Button>
      {model.modality === 'rerank' ? null : (
        <Button
          component={Link}
          href={paths.playground({ model: model.id, tab })}
          leftSection={<IconMessages size={16} />}
        >
          Open in Playground
        </Button>
      )}
    </>
  )
}
