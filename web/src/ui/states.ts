/** How states of the API are shown. */

import type { Tone } from './StatusBadge'

/** `meaning` is a sentence without its full stop. */
export type StateDisplay = { tone: Tone; label: string; meaning?: string }

/** Looks up a state; one of a newer server is shown by its name. */
export const displayIn =
  (states: Readonly<Record<string, StateDisplay>>) =>
  (state: string): StateDisplay =>
    states[state] ?? { tone: 'idle', label: state }
