import { Text } from '@mantine/core'
import { Fragment } from 'react'
import classes from './Models.module.css'

/** Aliases of a model; nothing if it has none. */
export function ModelAliases({ aliases = [] }: { aliases: readonly string[] | undefined }) {
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
