import { Group, Text } from '@mantine/core'

export function Brand() {
  return (
    <Group gap={10} wrap="nowrap">
      <img src="/favicon.svg" alt="" width={26} height={26} />
      <Text span fw={650} fz="lg" lts="-0.01em">
        Forebay
      </Text>
    </Group>
  )
}
