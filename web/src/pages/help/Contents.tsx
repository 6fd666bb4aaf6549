import { Anchor } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { paths } from '../../paths'
import { Link } from '../../ui/Link'
import { contents } from './guide'
import classes from './Help.module.css'

/** The pages of the guide, and the reference. */
export function Contents({ current }: { current: string }) {
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
