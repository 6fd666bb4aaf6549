import { type ComponentType, lazy } from 'react'

/**
 * A part of a page whose code is loaded on first use. If it cannot be loaded, which is so after an upgrade, `fallback` takes
 * its place: a reload would lose what was typed on the page.
 */
export const lazyPart = <Props>(
  load: () => Promise<{ default: ComponentType<Props> }>,
  fallback: ComponentType<Props>,
) => lazy(() => load().catch(() => ({ default: fallback })))
