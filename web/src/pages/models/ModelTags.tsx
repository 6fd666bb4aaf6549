import { Badge, Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { aliasesQuery, type Model } from '../../api/models'
import { useWorkspace } from '../../api/session'

export function ModelTags({ model }: { model: Model }) {
  const workspace = useWorkspace()
  const aliases = useQuery(aliasesQuery(workspace.id, model.id))
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
      {(aliases.data ?? []).map((alias) => (
        <Badge key={alias} variant="default" tt="none" fw={500} title="An alias: another name of this model">
          {alias}
        </Badge>
      ))}
    </Group>
  )
}
