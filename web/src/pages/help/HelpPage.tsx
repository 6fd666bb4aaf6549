import { Anchor, Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useParams, useRouterState } from '@tanstack/react-router'
import { useEffect } from 'react'
import { paths } from '../../paths'
import { Link } from '../../ui/Link'
import { Loaded } from '../../ui/Loaded'
import { PageHeader } from '../../ui/PageHeader'
import { GuideText } from './GuideText'
import { contents, HOME, pageText, splitTitle } from './guide'
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

function Contents({ current }: { current: string }) {
  const entries = useQuery({ queryKey: ['guide'], queryFn: contents, staleTime: Number.POSITIVE_INFINITY })
  return (
    <nav className={classes.contents} aria-label="Guide">
      <ul>
        {entries.data?.map(({ title, path, depth }) => (
          <li key={path ?? title} data-depth={depth}>
            {path ? (
              <Link href={paths.help(path)} aria-current={path === current ? 'page' : undefined}>
                {title}
              </Link>
            ) : (
              <strong>{title}</strong>
            )}
          </li>
        ))}
        <li data-depth={1}>
          <Anchor href="/openapi.json" target="_blank" inherit>
            OpenAPI description
          </Anchor>
        </li>
      </ul>
    </nav>
  )
}
