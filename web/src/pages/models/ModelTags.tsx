import { Badge, Group } from '@mantine/core'
import type { Model } from '../../api/models'
import { modalityLabel } from '../../ui/modality'

export function ModelTags({ model }: { model: Model }) {
  return (
    <Group gap={6}>
      <Badge variant="default" tt="none" fw={500}>
        {modalityLabel(model.modality)}
      </Badge>
      {model.optimized ? (
        <Badge variant="default" tt="none" fw={500} title="Tuned by the operator">
          Optimized
        </Badge>
      ) : null}
    </Group>
  )
}
