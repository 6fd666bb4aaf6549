import { Text } from '@mantine/core'

/** Visible prefix inside a field without a label. Hidden from screen readers, since the field has an accessible name. */
export function FieldPrefix({ children }: { children: string }) {
  return (
    <Text span size="sm" c="dimmed" aria-hidden>
      {children}
    </Text>
  )
}
