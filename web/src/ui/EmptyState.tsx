import { Group, Paper, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'

type Props = {
  title: string
  /** Suggests what to do next. */
  children: ReactNode
  icon?: ReactNode
  actions?: ReactNode
}

/** Placeholder for an empty list or page. */
export function EmptyState({ title, children, icon, actions }: Props) {
  return (
    <Paper p="xl">
      <Stack align="center" gap="xs" ta="center" maw={480} mx="auto" py="lg">
        {icon ? (
          <Text c="dimmed" component="div" aria-hidden>
            {icon}
          </Text>
        ) : null}
        <Title order={2}>{title}</Title>
        <Text c="dimmed" component="div">
          {children}
        </Text>
        {actions ? (
          <Group mt="sm" justify="center">
            {actions}
          </Group>
        ) : null}
      </Stack>
    </Paper>
  )
}
