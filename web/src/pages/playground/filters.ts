import { oneOf, text } from '../../ui/filters'
import { MAX_LANES } from './conversation'

/** URL parameters: the tab, one model and those compared with it, and the stored conversation. */
export const FILTERS = { tab: oneOf(['chat', 'embeddings']), model: text(), compare: text(), chat: text() }

/** Ids of models have no commas. */
export const comparedIn = (compare: string) =>
  compare
    .split(',')
    .filter(Boolean)
    .slice(0, MAX_LANES - 1)

export const modelFilters = ([model = '', ...compared]: readonly string[]) => ({ model, compare: compared.join(',') })
