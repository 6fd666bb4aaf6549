import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Fragment } from 'react'
import { aliasesQuery, type Model } from '../../api/models'
import { useWorkspace } from '../../api/session'
import classes from './Models.module.css'

/** Aliases of a model; nothing if it has none. */
export function ModelAliases({ model }: { model: Model }) {
  const workspace = useWorkspace()
  const { data: aliases = [] } = useQuery(aliasesQuery(workspace.id, model.id))
  if (aliases.length === 0) return null
  return (
    <Text size="sm" c="dimmed" className={classes.aliases}>
      Also called{' '}
      {aliases.map((alias, index) => (
        <Fragment key={alias}>
          {index > 0 ? ', ' : null}
          <code>{alias}</code>
        </Fragment>
      ))}
    </Text>
  )
}
