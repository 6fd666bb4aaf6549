import { Alert, Anchor, Breadcrumbs, Code, Group } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { catalogueQuery, type OperatorModel, operatorModelQuery } from '../../../api/operator/catalogue'
import { OperatorsOnly } from '../../../app/OperatorsOnly'
import { paths } from '../../../paths'
import { CopyButton } from '../../../ui/CopyButton'
import { Link } from '../../../ui/Link'
import { Loaded } from '../../../ui/Loaded'
import { PageHeader } from '../../../ui/PageHeader'
import { PanelSkeleton } from '../../../ui/Skeletons'
import { ModelStatus } from '../../models/ModelStatus'
import classes from '../Operator.module.css'
import { EditModel } from './EditModel'
import { Flavors } from './flavors/Flavors'
import { ModelActions } from './ModelActions'
import { ModelFacts, ModelState } from './ModelFacts'
import { ModelProbe } from './ModelProbe'
import { PriceHistory } from './PriceHistory'
import { isReadOnly } from './source'
import { TestPanel } from './TestPanel'

export function OperatorModelPage() {
  const { provider = '', _splat: name = '' } = useParams({ strict: false })
  const id = `${provider}/${name}`
  return (
    <OperatorsOnly title={id}>
      <ModelDetail id={id} key={id} />
    </OperatorsOnly>
  )
}

function ModelDetail({ id }: { id: string }) {
  const model = useQuery(operatorModelQuery(id))
  const catalogue = useQuery(catalogueQuery)
  const canChange = (one: OperatorModel) => !isReadOnly(one) && catalogue.data?.writable !== false
  return (
    <>
      <Breadcrumbs mb="xs">
        <Anchor component={Link} href={paths.operatorModels()}>
          Models
        </Anchor>
        <span>{id}</span>
      </Breadcrumbs>
      <PageHeader
        title={model.data?.name ?? id}
        description={<Identity id={id} model={model.data} />}
        actions={model.data && canChange(model.data) ? <ModelActions model={model.data} /> : null}
      />
      <Loaded
        query={model}
        skeleton={<PanelSkeleton height={320} />}
        errorTitle="This model cannot be shown"
        list={{ href: paths.operatorModels(), label: 'Show all models' }}
      >
        {(one) => (
          <div className={classes.stack}>
            {one.problem ? (
              <Alert
                role="alert"
                color="red"
                variant="outline"
                icon={<IconAlertTriangle aria-hidden />}
                title="This model is not served"
              >
                {one.problem}
              </Alert>
            ) : null}
            <div className={classes.columns}>
              <div className={classes.stack}>
                {canChange(one) ? <EditModel model={one} /> : <ModelFacts model={one} />}
                <Flavors model={one} isWritable={canChange(one)} />
              </div>
              <div className={classes.stack}>
                <ModelState model={one} />
                <TestPanel model={one} />
                <ModelProbe model={one} />
                <PriceHistory modelId={one.id} />
              </div>
            </div>
          </div>
        )}
      </Loaded>
    </>
  )
}

function Identity({ id, model }: { id: string; model: OperatorModel | undefined }) {
  return (
    <Group gap="xs" mt={4}>
      <Group gap={4} wrap="nowrap">
        <Code fz="sm">{id}</Code>
        <CopyButton value={id} label="Copy Model ID" />
      </Group>
      {model ? <ModelStatus status={model.status} /> : null}
    </Group>
  )
}
