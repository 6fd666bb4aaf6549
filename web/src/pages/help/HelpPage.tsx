import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useParams, useRouterState } from '@tanstack/react-router'
import { useEffect } from 'react'
import { Loaded } from '../../ui/Loaded'
import { PageHeader } from '../../ui/PageHeader'
import { Contents } from './Contents'
import { GuideText } from './GuideText'
import { HOME, pageText, splitTitle } from './guide'
import classes from './Help.module.css'

/** The guide of this version. */
export function HelpPage() {
  const { _splat = '' } = useParams({ strict: false })
  const path = _splat ? `${_splat}.md` : HOME
  const hash = useRouterState({ select: (state) => state.location.hash })
  const page = useQuery({
    queryKey: ['guide', path],
    queryFn: async () => splitTitle((await pageText(path)) ?? '# Not in the guide\n\nThis page does not exist.'),
    staleTime: Number.POSITIVE_INFINITY,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the heading exists once the page is shown.
  useEffect(() => {
    if (hash) document.getElementById(hash)?.scrollIntoView()
  }, [hash, page.data])
  return (
    <>
      <PageHeader title={page.data?.title ?? 'Guide'} />
      <div className={classes.guide}>
        <Loaded query={page} skeleton={<Skeleton h={320} />} errorTitle="The page could not be loaded">
          {({ body }) => <GuideText path={path} text={body} />}
        </Loaded>
        <Contents current={path} />
      </div>
    </>
  )
}
