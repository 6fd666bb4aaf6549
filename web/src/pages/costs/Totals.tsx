import type { Costs } from '../../api/costs'
import { formatHours, formatMoney } from '../../ui/format'
import { Panel } from '../../ui/Panel'
import { Stat, Stats } from '../../ui/Stat'

/** The month in figures, and what it will come to. */
export function Totals({ costs, isCurrent }: { costs: Costs; isCurrent: boolean }) {
  const forecast = (usd: string | null | undefined) => (usd && isCurrent ? `${formatMoney(usd)} forecast` : undefined)
  return (
    <Panel title={isCurrent ? 'Month to date' : 'The whole month'}>
      <Stats>
        <Stat label="Total" value={formatMoney(costs.total.costUsd)} />
        {isCurrent ? (
          <Stat
            label="Forecast for the month"
            value={costs.total.forecastUsd ? formatMoney(costs.total.forecastUsd) : 'Not yet'}
            note={costs.total.forecastUsd ? 'if it goes on as so far' : 'in the first hour of a month'}
          />
        ) : null}
        <Stat
          label="Serverless, by tokens"
          value={formatMoney(costs.serverless.costUsd)}
          note={forecast(costs.serverless.forecastUsd)}
        />
        <Stat
          label="Dedicated, by GPU-hours"
          value={formatMoney(costs.dedicated.costUsd)}
          note={forecast(costs.dedicated.forecastUsd)}
        />
        <Stat label="GPU-hours held" value={formatHours(costs.gpuHours)} />
      </Stats>
    </Panel>
  )
}
