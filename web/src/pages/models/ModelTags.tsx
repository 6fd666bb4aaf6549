import type { Model } from '../../api/models'
import { modalityLabel } from '../../ui/modality'
import classes from './Models.module.css'

/** Plain elements, because the library has many. */
export function ModelTags({ model }: { model: Model }) {
  return (
    <div className={classes.tags}>
      <span className={classes.tag}>{modalityLabel(model.modality)}</span>
      {model.optimized ? (
        <span className={classes.tag} title="Tuned by the operator">
          Optimized
        </span>
      ) : null}
    </div>
  )
}
