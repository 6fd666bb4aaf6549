import { Group, Stack, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'

type Props = {
  title: string
  /** Shown instead of the title as text, where it needs more than words. */
  heading?: ReactNode
  description?: ReactNode
  actions?: ReactNode
}

/** The page's one h1, its name in the browser's tab, and what can be done on it. */
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
