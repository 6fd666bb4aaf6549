/** Classes of calls: which of those that wait is served first, and at which price. */

export const CALL_CLASSES = ['interactive', 'flex', 'batch'] as const
export type CallClass = (typeof CALL_CLASSES)[number]

const LABELS: Record<CallClass, string> = { interactive: 'Interactive', flex: 'Flex', batch: 'Batch' }

/** Later versions may know more classes. */
export const classLabel = (name: string): string => LABELS[name as CallClass] ?? name

export const CALL_CLASS_OPTIONS = CALL_CLASSES.map((value) => ({ value, label: LABELS[value] }))
