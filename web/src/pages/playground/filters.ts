import { oneOf, text } from '../../ui/filters'

/** URL parameters: the tab, one or two models, and the stored conversation. */
export const FILTERS = { tab: oneOf(['chat', 'embeddings']), model: text(), compare: text(), chat: text() }
