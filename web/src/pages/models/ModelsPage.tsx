import { Button } from '@mantine/core'
import { IconBooks, IconFilterOff } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { libraryQuery } from '../../api/models'
import { useSessionContext, useWorkspace } from '../../api/session'
import { paths } from '../../paths'
import { EmptyState } from '../../ui/EmptyState'
import { Link } from '../../ui/Link'
import { Loaded } from '../../ui/Loaded'
import { PageHeader } from '../../ui/PageHeader'
import { CardSkeletons, TableSkeleton } from '../../ui/Skeletons'
import { useFilters } from '../../ui/useFilters'
import { FILTERS, filterModels } from './filter-models'
import { ModelCards } from './ModelCards'
import { ModelFilters } from './ModelFilters'
import { ModelTable } from './ModelTable'

export function ModelsPage() {
  const workspace = useWorkspace()
  const library = useQuery(libraryQuery(workspace.id))
  const [filters, change] = useFilters(FILTERS)
  const found = useMemo(() => library.data && filterModels(library.data, filters), [library.data, filters])
  const skeleton = filters.view === 'cards' ? <CardSkeletons /> : <TableSkeleton />
  const clear = () => change({ q: '', provider: '', modality: '', status: '' })
  return (
    <>
      <PageHeader
        title="Model Library"
        description="All models you can call, with their current status. Prices are per million tokens."
      />
      <ModelFilters models={library.data?.models ?? []} filters={filters} change={change} />
      <Loaded query={library} skeleton={skeleton} errorTitle="The models could not be loaded">
        {({ models, aliases }) => {
          const shown = found ?? []
          if (models.length === 0) return <NoModels />
          if (shown.length === 0) return <NoMatches onClear={clear} />
          return filters.view === 'cards' ? (
            <ModelCards models={shown} aliases={aliases} />
          ) : (
            <ModelTable
              models={shown}
              aliases={aliases}
              sort={filters.sort}
              onSort={(sort) => change({ sort: sort as Sort })}
            />
          )
        }}
      </Loaded>
    </>
  )
}

type Sort = (typeof FILTERS)['sort']['fallback']

function NoModels() {
  const { isOperator } = useSessionContext()
  const add = (
    <Button component={Link} href={paths.addModel()}>
      Add model
    </Button>
  )
  return (
    <EmptyState title="The catalogue is empty" icon={<IconBooks size={32} />} actions={isOperator ? add : null}>
      The operator adds models here in the console, or in the configuration file.
    </EmptyState>
  )
}

function NoMatches({ onClear }: { onClear: () => void }) {
  return (
    <EmptyState
      title="No model matches"
      icon={<IconFilterOff size={32} />}
      actions={
        <Button variant="default" onClick={onClear}>
          Clear filters
        </Button>
      }
    >
      Try fewer words, or remove a filter.
    </EmptyState>
  )
}
