import { Group, Paper, Text, Title } from '@mantine/core'
import { type ReactNode, useId } from 'react'

type Props = { title: string; description?: ReactNode; actions?: ReactNode; children: ReactNode }

/** A part of a page with its h2. */
export function Panel({ title, description, actions, children }: Props) {
  const id = useId()
  return (
    <Paper component="section" aria-labelledby={id} p="md">
      <Group justify="space-between" align="flex-start" mb="sm" gap="sm">
        <div>
          <Title order={2} id={id}>
            {title}
          </Title>
          {description ? (
            <Text size="sm" c="dimmed">
              {description}
            </Text>
          ) : null}
        </div>
        {actions}
      </Group>
      {children}
    </Paper>
  )
}
