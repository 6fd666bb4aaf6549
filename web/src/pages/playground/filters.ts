import { oneOf, text } from '../../ui/filters'

/** What the address says: the tab, one model or two, and which of the kept conversations. */
export const FILTERS = { tab: oneOf(['chat', 'embeddings']), model: text(), compare: text(), chat: text() }
