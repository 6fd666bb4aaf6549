import { Group, Stack, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'

type Props = {
  title: string
  /** Replaces the title text if it needs markup. */
  heading?: ReactNode
  description?: ReactNode
  actions?: ReactNode
}

/** The page's h1, its browser tab title, and its actions. */
export function PageHeader({ title, heading, description, actions }: Props) {
  useEffect(() => {
    document.title = `${title} · Forebay`
  }, [title])
  return (
    <Group justify="space-between" align="flex-start" gap="md" mb="lg">
      <Stack gap={2} miw={0}>
        <Title order={1}>{heading ?? title}</Title>
        {description ? (
          <Text c="dimmed" component="div">
            {description}
          </Text>
        ) : null}
      </Stack>
      {actions ? <Group gap="xs">{actions}</Group> : null}
    </Group>
  )
}
