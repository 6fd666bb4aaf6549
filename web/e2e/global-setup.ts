/** One forebay for the whole run; tests read where it is from the environment. */

import { startForebay } from './forebay'

export default async function setup() {
  const { stop, ...forebay } = await startForebay()
  process.env.FOREBAY_UNDER_TEST = JSON.stringify(forebay)
  return stop
}
