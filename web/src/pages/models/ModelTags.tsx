import { Badge, Group } from '@mantine/core'
import type { Model } from '../../api/models'

export function ModelTags({ model }: { model: Model }) {
  return (
    <Group gap={6}>
      <Badge variant="default" tt="none" fw={500}>
        {model.modality === 'embedding' ? 'Embedding' : 'Chat'}
      </Badge>
      {model.optimized ? (
        <Badge variant="default" tt="none" fw={500} title="Tuned by the operator">
          Optimized
        </Badge>
      ) : null}
    </Group>
  )
}
