import { Group, Paper, Text, Title } from '@mantine/core'
import { type ReactNode, useId } from 'react'
import classes from './Panel.module.css'

type Props = {
  /** Of the section, for links to it. */
  id?: string
  title: string
  description?: ReactNode
  /** Summary value beside the title. */
  figure?: ReactNode
  actions?: ReactNode
  /** It has nothing to show, and comes after the others of its grid. */
  isFolded?: boolean
  children: ReactNode
}

/** Section of a page with an h2. */
export function Panel({ id, title, description, figure, actions, isFolded, children }: Props) {
  const titleId = useId()
  return (
    <Paper component="section" id={id} aria-labelledby={titleId} p="md" data-folded={isFolded || undefined}>
      <Group justify="space-between" align="flex-start" mb="sm" gap="sm">
        <div className={figure ? classes.withFigure : undefined}>
          <Title order={2} id={titleId}>
            {title}
          </Title>
          {figure ? (
            <Text size="sm" c="dimmed" className={classes.figure}>
              {figure}
            </Text>
          ) : null}
          {description ? (
            <Text size="sm" c="dimmed" className={classes.description}>
              {description}
            </Text>
          ) : null}
        </div>
        {actions}
      </Group>
      <div className={classes.body}>{children}</div>
    </Paper>
  )
}
