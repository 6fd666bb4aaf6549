import { SegmentedControl, Select } from '@mantine/core'
import { IconArrowsSort } from '@tabler/icons-react'
import { useCallback } from 'react'
import type { Model } from '../../api/models'
import { FilterSelect } from '../../ui/FilterSelect'
import type { Values } from '../../ui/filters'
import { modalityLabel } from '../../ui/modality'
import { SearchField } from '../../ui/SearchField'
import { type FILTERS, SORTS, valuesOf } from './filter-models'
import classes from './Models.module.css'
import { statusOf } from './status'

type FilterValues = Values<typeof FILTERS>
type Props = { models: Model[]; filters: FilterValues; change: (changed: Partial<FilterValues>) => void }

const STATUSES = ['available', 'degraded', 'unavailable'].map((value) => ({ value, label: statusOf(value).label }))

export function ModelFilters({ models, filters, change }: Props) {
  const search = useCallback((q: string) => change({ q }), [change])
  const providers = valuesOf(models, 'provider')
  const modalities = valuesOf(models, 'modality').map((value) => ({ value, label: modalityLabel(value) }))
  return (
    <search className={classes.filters} aria-label="Models">
      <div className={classes.searchField}>
        <SearchField label="Search models" placeholder="Name or Model ID" value={filters.q} onChange={search} />
      </div>
      <FilterSelect
        label="Provider"
        placeholder="Any provider"
        data={withSelected(providers, filters.provider)}
        value={filters.provider}
        onChange={(provider) => change({ provider })}
      />
      <FilterSelect
        label="Modality"
        placeholder="Any modality"
        data={modalities}
        value={filters.modality}
        onChange={(modality) => change({ modality })}
      />
      <FilterSelect
        label="Status"
        placeholder="Any status"
        data={STATUSES}
        value={filters.status}
        onChange={(status) => change({ status })}
      />
      <Select
        className={classes.sort}
        aria-label="Sort by"
        allowDeselect={false}
        leftSection={<IconArrowsSort size={16} />}
        data={[...SORTS]}
        value={SORTS.some((sort) => sort.value === filters.sort) ? filters.sort : null}
        placeholder="Table order"
        onChange={(sort) => change({ sort: (sort ?? 'name') as FilterValues['sort'] })}
      />
      <SegmentedControl
        className={classes.view}
        aria-label="View"
        data={[
          { value: 'cards', label: 'Cards' },
          { value: 'table', label: 'Table' },
        ]}
        value={filters.view}
        onChange={(view) => change({ view: view as FilterValues['view'] })}
      />
    </search>
  )
}

/** Keeps a provider from the URL selectable even if it has no models. */
const withSelected = (values: string[], selected: string) =>
  selected && !values.includes(selected) ? [...values, selected] : values
