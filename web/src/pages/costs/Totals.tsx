import type { Costs } from '../../api/costs'
import { formatCents, formatHours } from '../../ui/format'
import { Money } from '../../ui/Money'
import { Panel } from '../../ui/Panel'
import { Stat, Stats } from '../../ui/Stat'
import { classesText } from './classes'

/** Totals of the month, with a forecast for the current one. */
export function Totals({ costs, isCurrent }: { costs: Costs; isCurrent: boolean }) {
  const forecast = (usd: string | null | undefined) => (usd && isCurrent ? `${formatCents(usd)} forecast` : undefined)
  return (
    <Panel title={isCurrent ? 'Month to date' : 'Full month'}>
      <Stats>
        <Stat label="Total" value={<Money usd={costs.total.costUsd} />} />
        {isCurrent ? (
          <Stat
            label="Forecast for the month"
            value={costs.total.forecastUsd ? <Money usd={costs.total.forecastUsd} /> : 'Not available'}
            note={costs.total.forecastUsd ? 'at the current rate' : 'during the first hour of a month'}
          />
        ) : null}
        <Stat
          label="Serverless, per token"
          value={<Money usd={costs.serverless.costUsd} />}
          note={[forecast(costs.serverless.forecastUsd), classesText(costs.classes)].filter(Boolean).join(', ')}
        />
        <Stat
          label="Dedicated, per GPU-hour"
          value={<Money usd={costs.dedicated.costUsd} />}
          note={forecast(costs.dedicated.forecastUsd)}
        />
        <Stat label="GPU-hours held" value={formatHours(costs.gpuHours)} />
      </Stats>
    </Panel>
  )
}
