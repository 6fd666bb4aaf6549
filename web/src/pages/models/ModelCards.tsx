import type { Library, Model } from '../../api/models'
import { paths } from '../../paths'
import { CopyButton } from '../../ui/CopyButton'
import { formatCount, formatPrice } from '../../ui/format'
import { Link } from '../../ui/Link'
import { MoreRows } from '../../ui/MoreRows'
import { useFirstRows } from '../../ui/useFirstRows'
import { ModelAliases } from './ModelAliases'
import { ModelStatus } from './ModelStatus'
import classes from './Models.module.css'
import { ModelTags } from './ModelTags'

/** They fill a large screen. A card has thirty elements, plain ones because each counts twenty times. */
const FIRST = 20

export function ModelCards({ models, aliases }: Library) {
  const { rows, ...more } = useFirstRows(models, FIRST)
  return (
    <>
      <ul className={classes.grid} aria-label="Models">
        {rows.map((model) => (
          <li key={model.id}>
            <ModelCard model={model} aliases={aliases.get(model.id)} />
          </li>
        ))}
      </ul>
      <MoreRows shown={rows.length} {...more} />
    </>
  )
}

function ModelCard({ model, aliases }: { model: Model; aliases: readonly string[] | undefined }) {
  return (
    <article className={classes.card}>
      <div>
        <div className={classes.cardHead}>
          <h2 className={classes.cardName}>
            <Link href={paths.model(model.id)} className={classes.cardLink}>
              {model.name}
            </Link>
          </h2>
          <ModelStatus status={model.status} />
        </div>
        <div className={classes.id}>
          <code title={model.id}>{model.id}</code>
          <span className={classes.above}>
            <CopyButton value={model.id} label="Copy Model ID" />
          </span>
        </div>
      </div>
      <ModelTags model={model} />
      <ModelAliases aliases={aliases} />
      <dl className={classes.facts}>
        <Fact name="Input" value={formatPrice(model.pricing.input_per_1m)} unit="per 1M tokens" />
        <OutputFact model={model} />
        <Fact name="Context" value={formatCount(model.context_length)} unit="tokens" />
      </dl>
    </article>
  )
}

/** The price of what the model returns. */
function OutputFact({ model: { modality, pricing } }: { model: Model }) {
  if (modality === 'chat') return <Fact name="Output" value={formatPrice(pricing.output_per_1m)} unit="per 1M tokens" />
  if (pricing.per_1k_searches)
    return <Fact name="Search" value={formatPrice(pricing.per_1k_searches)} unit="per 1,000 rerank calls" />
  return <Fact name="Output" value="–" unit={`returns ${modality === 'embedding' ? 'vectors' : 'scores'}`} />
}

function Fact({ name, value, unit }: { name: string; value: string; unit: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value}
        <span className={classes.unit}>{unit}</span>
      </dd>
    </div>
  )
}
