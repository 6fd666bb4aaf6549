import { Text } from '@mantine/core'

/** A word inside a field that has no label beside it; its accessible name says the same. */
export function FieldPrefix({ children }: { children: string }) {
  return (
    <Text span size="sm" c="dimmed" aria-hidden>
      {children}
    </Text>
  )
}
