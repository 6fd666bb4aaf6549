import { Code } from '@mantine/core'

/** A message of the API, with names in backticks as code. */
export const withCode = (message: string) =>
  message.split('`').map((part, index, parts) => {
    if (index % 2 === 0) return part
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text.
    return index < parts.length - 1 ? <Code key={index}>{part}</Code> : `\`${part}`
  })
