import { Tooltip } from '@mantine/core'
import { formatCents, formatMoney } from './format'

/** An amount as a headline: less than a cent is named as such, with the exact amount in the tooltip. */
export function Money({ usd }: { usd: string }) {
  const [shown, exact] = [formatCents(usd), formatMoney(usd)]
  if (shown === exact) return shown
  return (
    <Tooltip label={exact}>
      <span>{shown}</span>
    </Tooltip>
  )
}
