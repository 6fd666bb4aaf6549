import { Anchor, Breadcrumbs, SegmentedControl } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { catalogueQuery } from '../../../../api/operator/catalogue'
import { OperatorsOnly } from '../../../../app/OperatorsOnly'
import { paths } from '../../../../paths'
import { EmptyState } from '../../../../ui/EmptyState'
import { oneOf } from '../../../../ui/filters'
import { Link } from '../../../../ui/Link'
import { Loaded } from '../../../../ui/Loaded'
import { PageHeader } from '../../../../ui/PageHeader'
import { PanelSkeleton } from '../../../../ui/Skeletons'
import { useFilters } from '../../../../ui/useFilters'
import classes from '../../Operator.module.css'
import { EMPTY_FLAVOR } from '../flavors/flavor-fields'
import { ConnectServer } from './ConnectServer'
import { NewModelForm } from './NewModelForm'
import { RunHere } from './RunHere'

const FILTERS = { how: oneOf(['connect', 'run', 'dedicated']) }
const WAYS: { value: 'connect' | 'run' | 'dedicated'; label: string }[] = [
  { value: 'connect', label: 'Connect a server' },
  { value: 'run', label: 'Run it here' },
  { value: 'dedicated', label: 'Dedicated endpoints' },
]

export function AddModelPage() {
  return (
    <OperatorsOnly title="Add model">
      <AddModel />
    </OperatorsOnly>
  )
}

function AddModel() {
  const catalogue = useQuery(catalogueQuery)
  const [{ how }, change] = useFilters(FILTERS)
  return (
    <>
      <Breadcrumbs mb="xs">
        <Anchor component={Link} href={paths.operatorModels()}>
          Models
        </Anchor>
        <span>Add model</span>
      </Breadcrumbs>
      <PageHeader title="Add model" description="It is live on all nodes as soon as you add it" />
      <Loaded
        query={catalogue}
        skeleton={<PanelSkeleton height={240} />}
        errorTitle="The catalogue could not be loaded"
      >
        {({ writable, canStoreKeys }) =>
          writable ? (
            <div className={classes.stack}>
              <SegmentedControl
                aria-label="How the model is served"
                className={classes.ways}
                data={WAYS}
                value={how}
                onChange={(value) => change({ how: value })}
              />
              {how === 'connect' ? <ConnectServer canStoreKeys={canStoreKeys} /> : null}
              {how === 'run' ? <RunHere /> : null}
              {how === 'dedicated' ? (
                <NewModelForm
                  title="Offer a model for dedicated endpoints"
                  found={{ id: '', flavors: [EMPTY_FLAVOR] }}
                />
              ) : null}
            </div>
          ) : (
            <EmptyState title="The catalogue is read from the configuration file">
              Set <code>catalogue</code> to <code>"both"</code> in the configuration to add models here.
            </EmptyState>
          )
        }
      </Loaded>
    </>
  )
}
