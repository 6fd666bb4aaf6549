import { Skeleton, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useRouterState } from '@tanstack/react-router'
import { useCallback, useEffect } from 'react'
import { text } from '../../ui/filters'
import { Loaded } from '../../ui/Loaded'
import { PageHeader } from '../../ui/PageHeader'
import { SearchField } from '../../ui/SearchField'
import { useFilters } from '../../ui/useFilters'
import { Contents } from './Contents'
import { REFERENCE } from './guide'
import classes from './Help.module.css'
import { Operations } from './Operations'
import { documentQuery, foundOperations, operationsOf } from './reference'

const FILTERS = { find: text() }

/** Every operation of this gateway. */
export function ReferencePage() {
  const document = useQuery(documentQuery)
  const [{ find }, change] = useFilters(FILTERS)
  const search = useCallback((find: string) => change({ find }), [change])
  const linked = useRouterState({ select: (state) => state.location.hash })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the operation exists once the document is shown.
  useEffect(() => {
    if (linked) window.document.getElementById(linked)?.scrollIntoView()
  }, [linked, document.data])
  return (
    <>
      <PageHeader title="API reference" description="Every operation of this version, as /openapi.json describes it" />
      <div className={classes.guide}>
        <Stack gap="lg">
          <SearchField label="Search operations" placeholder="Path or summary" value={find} onChange={search} />
          <Loaded query={document} skeleton={<Skeleton h={320} />} errorTitle="The reference could not be loaded">
            {(data) => (
              <Operations document={data} operations={foundOperations(operationsOf(data), find)} linked={linked} />
            )}
          </Loaded>
        </Stack>
        <Contents current={REFERENCE} />
      </div>
    </>
  )
}
