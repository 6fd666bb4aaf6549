/** Items of the navigation, in order. */

import {
  IconAdjustments,
  IconBooks,
  IconBuilding,
  IconChartLine,
  IconGauge,
  IconHeartbeat,
  IconHistory,
  IconKey,
  IconListDetails,
  IconMessages,
  IconReceipt,
  IconServer2,
  IconStack2,
  IconUserCog,
  IconUsers,
} from '@tabler/icons-react'
import { paths } from '../paths'

export const NAVIGATION = [
  {
    group: 'Build',
    items: [
      { name: 'Model Library', href: paths.models(), icon: IconBooks },
      { name: 'Playground', href: paths.playground(), icon: IconMessages },
      { name: 'API keys', href: paths.keys(), icon: IconKey },
      { name: 'Endpoints', href: paths.endpoints(), icon: IconServer2 },
      { name: 'Batches', href: paths.batches(), icon: IconListDetails },
    ],
  },
  {
    group: 'Monitor',
    items: [
      { name: 'Costs', href: paths.costs(), icon: IconReceipt },
      { name: 'Observability', href: paths.observability(), icon: IconChartLine },
    ],
  },
  {
    group: 'Manage',
    items: [
      { name: 'Members', href: paths.members(), icon: IconUsers },
      { name: 'Audit log', href: paths.audit(), icon: IconHistory },
      { name: 'Settings', href: paths.settings(), icon: IconAdjustments },
    ],
  },
]

/** For the operator only. */
export const OPERATOR_NAVIGATION = {
  group: 'Operate',
  items: [
    { name: 'Overview', href: paths.operator(), icon: IconGauge },
    { name: 'Models', href: paths.operatorModels(), icon: IconStack2 },
    { name: 'Nodes and health', href: paths.operatorHealth(), icon: IconHeartbeat },
    { name: 'Organizations', href: paths.operatorOrganizations(), icon: IconBuilding },
    { name: 'Users', href: paths.operatorUsers(), icon: IconUserCog },
  ],
}

/** Whether a page belongs to an item: `/models/acme/tiny` belongs to `/models`. */
export const isCurrent = (pathname: string, href: string) =>
  pathname === href || (href !== paths.operator() && pathname.startsWith(`${href}/`))
