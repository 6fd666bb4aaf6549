import { Group, Paper, Title } from '@mantine/core'
import type { Model } from '../../api/models'
import { paths } from '../../paths'
import { CopyButton } from '../../ui/CopyButton'
import { formatCount, formatPrice } from '../../ui/format'
import { Link } from '../../ui/Link'
import { ModelStatus } from './ModelStatus'
import classes from './Models.module.css'
import { ModelTags } from './ModelTags'

export function ModelCards({ models }: { models: Model[] }) {
  return (
    <ul className={classes.grid} aria-label="Models">
      {models.map((model) => (
        <li key={model.id}>
          <ModelCard model={model} />
        </li>
      ))}
    </ul>
  )
}

function ModelCard({ model }: { model: Model }) {
  const hasOutput = model.modality !== 'embedding'
  return (
    <Paper p="md" className={classes.card}>
      <div>
        <Group justify="space-between" gap="xs" wrap="nowrap" align="flex-start">
          <Title order={2} fz="md">
            <Link href={paths.model(model.id)} className={classes.cardLink}>
              {model.name}
            </Link>
          </Title>
          <ModelStatus status={model.status} />
        </Group>
        <div className={classes.id}>
          <code title={model.id}>{model.id}</code>
          <span className={classes.above}>
            <CopyButton value={model.id} label="Copy Model ID" />
          </span>
        </div>
      </div>
      <ModelTags model={model} />
      <dl className={classes.facts}>
        <div>
          <dt>Input / 1M</dt>
          <dd>{formatPrice(model.pricing.input_per_1m)}</dd>
        </div>
        <div>
          <dt>Output / 1M</dt>
          <dd>{hasOutput ? formatPrice(model.pricing.output_per_1m) : '–'}</dd>
        </div>
        <div>
          <dt>Context</dt>
          <dd>{formatCount(model.context_length)}</dd>
        </div>
      </dl>
    </Paper>
  )
}
