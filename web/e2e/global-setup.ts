/** Starts one forebay for the whole run; tests get its address from the environment. */

import { startForebay } from './forebay'

export default async function setup() {
  const { stop, ...forebay } = await startForebay()
  process.env.FOREBAY_UNDER_TEST = JSON.stringify(forebay)
  return stop
}
